// cgo keeps memory from malloc that the Go runtime does not know of, beside a small Go heap,
// with threads that C made and goroutines that do not return from C.
package main

/*
#cgo LDFLAGS: -pthread
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 20000, SMALL_COUNT = 300, MAPPED = 3 << 20, THREADS = 3, IN_THREAD = 100 };

static void *kept[SMALL_COUNT], *mapped, *in_thread[THREADS][IN_THREAD];
static pthread_barrier_t barrier;

static void *fill(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	memset(block, 0xc5, size);
	// The compiler may not conclude that nobody will ever look.
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

// A thread's blocks come from an arena of its own.
static void *sleeper(void *number)
{
	for (int i = 0; i < IN_THREAD; i++)
		in_thread[(size_t)number][i] = fill(SMALL);
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
}

// Threads that C makes block all signals: Go's handlers are not meant to run on them.
static void start_threads(void)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, sleeper, (void *)i))
			abort();
	}
	pthread_barrier_wait(&barrier);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// Returns how many bytes were asked for.
static long plant(void)
{
	for (int i = 0; i < SMALL_COUNT; i++)
		kept[i] = fill(SMALL);
	mapped = fill(MAPPED);
	start_threads();
	return (long)SMALL * (SMALL_COUNT + THREADS * IN_THREAD) + MAPPED;
}

static void stay(void)
{
	for (;;)
		pause();
}
*/
import "C"

import (
	"time"

	"spanscope.test/progs/truth"
)

const callers = 4

var heap [][]byte

func main() {
	truth.Start()
	truth.Note("malloc_bytes", int(C.plant()))
	for i := 0; i < callers; i++ {
		go func() { C.stay() }()
	}
	truth.Note("callers", callers)
	for i := 0; i < 4000; i++ {
		block := make([]byte, 1000)
		block[0] = 1
		heap = append(heap, block)
	}
	time.Sleep(50 * time.Millisecond) // the callers are in C now
	truth.Freeze()
}

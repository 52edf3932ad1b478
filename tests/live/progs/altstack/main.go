// altstack has threads of C's that set up signal stacks of their own and then call Go, which
// adopts these for as long as the calls last.
package main

/*
#cgo CFLAGS: -D_GNU_SOURCE
#cgo LDFLAGS: -pthread
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { THREADS = 4, STACK = 1 << 20, SIGNAL_STACK = 4 << 20 };

extern void enter(void);

// Little else that is anonymous.
__attribute__((constructor)) static void save_space(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_setattr_default_np(&attr);
	mallopt(M_ARENA_MAX, 1);
}

static void *call_go(void *unused)
{
	stack_t signal_stack = {.ss_size = SIGNAL_STACK};

	(void)unused;
	signal_stack.ss_sp = mmap(NULL, SIGNAL_STACK, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (signal_stack.ss_sp == MAP_FAILED || sigaltstack(&signal_stack, NULL))
		abort();
	enter();
	return NULL;
}

static void start_threads(void)
{
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, call_go, NULL))
			abort();
	}
}
*/
import "C"

import (
	"sync"

	"spanscope.test/progs/truth"
)

var entered sync.WaitGroup

//export enter
func enter() {
	entered.Done()
	select {}
}

func main() {
	truth.Start()
	entered.Add(C.THREADS)
	C.start_threads()
	entered.Wait()
	truth.Note("signal_stack_bytes", C.THREADS*C.SIGNAL_STACK)
	truth.Note("thread_stack_bytes", C.THREADS*C.STACK)
	truth.Freeze()
}

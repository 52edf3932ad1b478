//go:build cgo
// +build cgo

package main

/*
#cgo CFLAGS: -D_GNU_SOURCE
#cgo LDFLAGS: -pthread
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

enum { STACK = 1 << 20 };

// Smaller stacks and fewer arenas than usual: gcore writes all that is mapped.
__attribute__((constructor)) static void save_space(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_setattr_default_np(&attr);
	mallopt(M_ARENA_MAX, 2);
}

static void stay(void)
{
	for (;;)
		pause();
}
*/
import "C"

const stackBytes = C.STACK

func stay() {
	C.stay()
}

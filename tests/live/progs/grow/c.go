//go:build cgo
// +build cgo

package main

/*
#include <stdlib.h>
#include <string.h>

static void grow(void)
{
	for (int i = 0; i < 300; i++) {
		void *block = malloc(20000);

		if (!block)
			abort();
		memset(block, 0xc5, 20000);
		__asm__ volatile("" : : "r"(block) : "memory");
	}
}
*/
import "C"

// growC leaks 6 MB that malloc gave.
func growC(step int) {
	C.grow()
}

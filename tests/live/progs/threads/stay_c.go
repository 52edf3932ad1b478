//go:build cgo

package main

/*
#include <unistd.h>

static void stay(void)
{
	for (;;)
		pause();
}
*/
import "C"

func stay() {
	C.stay()
}

//go:build cgo
// +build cgo

package main

/*
#include <unistd.h>

extern void callBack(void);

static void stay(void) { for (;;) pause(); }
static void back(void) { callBack(); }
*/
import "C"

//export callBack
func callBack() { <-never }

func init() {
	extra = append(extra, func() { C.stay() }, func() { C.back() })
}

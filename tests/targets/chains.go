// SPDX-License-Identifier: GPL-3.0-or-later

// Go programs with known stacks, one per argument, for tests/test_live_go.sh.
package main

/*
static volatile unsigned long sink;
static __attribute__((noinline)) void c_spin(void) { for (int i = 0; i < 100000; i++) sink += i; }
static __attribute__((noinline)) void c_calls(void) { c_spin(); sink++; }
extern void goCallback(void);
static __attribute__((noinline)) void c_calls_go(void) { goCallback(); sink++; }
*/
import "C"

import (
	"crypto/sha256"
	"os"
	"runtime"
	"time"
)

var (
	sink int
	a, b [1 << 16]byte
	tree *node
)

type node struct{ left, right *node }

//go:noinline
func leaf(n int) int { // it has no frame
	s := 0
	for i := 0; i < n; i++ {
		s += i ^ n
	}
	return s
}

//go:noinline
func middle() int { return leaf(100000) + 1 }

//go:noinline
func outer() { sink += middle() }

//go:noinline
func moves() { copy(a[:], b[:]) }

//go:noinline
func hashes() { sha256.Sum256(a[:]) }

//go:noinline
func clocks() {
	for i := 0; i < 1000; i++ {
		sink += int(time.Now().UnixNano())
	}
}

//go:noinline
func grow(n int) *node {
	if n == 0 {
		return &node{}
	}
	return &node{grow(n - 1), grow(n - 1)}
}

//go:noinline
func intoC() { C.c_calls() }

//go:noinline
func roundTrip() { C.c_calls_go() }

//export goCallback
func goCallback() { outer() }

func main() {
	switch os.Args[1] {
	case "leaf":
		for {
			outer()
		}
	case "goroutine":
		go func() {
			for {
				outer()
			}
		}()
		select {}
	case "moves":
		for {
			moves()
		}
	case "hashes":
		for {
			hashes()
		}
	case "clocks":
		for {
			clocks()
		}
	case "garbage":
		for {
			tree = grow(14)
		}
	case "switches":
		c, d := make(chan int), make(chan int)
		go func() {
			for v := range c {
				d <- v
			}
		}()
		for {
			c <- 1
			<-d
			runtime.Gosched()
		}
	case "c":
		for {
			intoC()
		}
	case "callback":
		for {
			roundTrip()
		}
	}
}

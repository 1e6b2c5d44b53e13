package main

import "github.com/delegation-dev/delegation-operator/internal/finance"

// random is SplitMix64. The generator has its own so that no change of a library changes the data that
// is checked in.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// below returns a number from 0 to n-1.
func (r *random) below(n int) int { return int(r.next() % uint64(n)) }

// between returns an amount of whole cents from low to high, both in whole units.
func (r *random) between(low, high int) finance.Cents {
	return finance.Cents(low*100 + r.below((high-low)*100+1))
}

func pick[T any](r *random, from []T) T { return from[r.below(len(from))] }

package backoff

import (
	"math"
	"math/bits"
	"time"
)

// climb returns base + step·n, or the largest Duration if that is more.
func climb(base, step time.Duration, n int) time.Duration {
	hi, lo := bits.Mul64(uint64(step), uint64(n))
	sum, carry := bits.Add64(lo, uint64(base), 0)
	if hi+carry > 0 {
		return math.MaxInt64
	}
	return time.Duration(min(sum, math.MaxInt64))
}

// grow returns base·factorⁿ to the nearest nanosecond, or the largest Duration
// if that is more, for factor ≥ 1.
func grow(base time.Duration, factor float64, n int) time.Duration {
	if base == 0 {
		return 0 // even times ∞
	}
	zeros := bits.LeadingZeros64(uint64(base))
	product := power(factor, n).times(wide{uint64(base) << zeros, 0, 63 - zeros})
	if product.exp >= 63 {
		return math.MaxInt64
	}
	halves := product.hi >> (62 - product.exp)
	return time.Duration(min(halves/2+halves%2, math.MaxInt64))
}

// power returns xⁿ, or something of at least 2⁶³ if that is as much, for x ≥ 1.
func power(x float64, n int) wide {
	frac, exp := math.Frexp(x)
	factor := wide{uint64(frac*(1<<53)) << 11, 0, exp - 1}
	p := wide{1 << 63, 0, 0}
	for i := bits.Len(uint(n)) - 1; i >= 0 && p.exp < 63; i-- {
		p = p.times(p)
		if n>>i&1 == 1 {
			p = p.times(factor)
		}
	}
	return p
}

// A wide is a number of 128 bits, hi before lo, of which the first is set and
// stands for 2^exp. A float64 would not do: each product of a power is rounded,
// and what is lost multiplies with the power. With 128 bits, even the power that
// takes the smallest factor to 2⁶³ is right to 2⁻⁶⁶ of itself: delays that should
// rise do, and only one in 2⁶⁴ or so that lies next to a half can be
// rounded the wrong way. As no bit is beyond 64 in the factors of an exact half, these are
// exact.
type wide struct {
	hi, lo uint64
	exp    int
}

func (a wide) times(b wide) wide {
	hi, lo := bits.Mul64(a.hi, b.hi)
	x, _ := bits.Mul64(a.hi, b.lo)
	y, _ := bits.Mul64(a.lo, b.hi)
	lo, carry := bits.Add64(lo, x, 0)
	hi += carry
	lo, carry = bits.Add64(lo, y, 0)
	hi += carry
	if hi>>63 == 1 {
		return wide{hi, lo, a.exp + b.exp + 1}
	}
	return wide{hi<<1 | lo>>63, lo << 1, a.exp + b.exp}
}

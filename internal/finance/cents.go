package finance

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Cents is an amount of money in hundredths of the table's one currency. Money that leaves the account
// is negative.
type Cents int64

// maxCents bounds one amount, so that the sum of all rows a table may have can't overflow.
const maxCents Cents = 100_000_000_000_00

// ErrAmount says that a text is no amount, or one too large to be true.
var ErrAmount = errors.New("not an amount: want digits, a point and two decimals, such as -1234.50")

// ParseCents reads an amount in the form -1234.50. Anything else is ErrAmount: thousands separators and
// decimal commas are refused rather than guessed at.
func ParseCents(s string) (Cents, error) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, ok := strings.Cut(digits, ".")
	if !ok || len(fraction) != 2 || len(whole) == 0 || len(whole) > 12 || !allDigits(whole) || !allDigits(fraction) {
		return 0, fmt.Errorf("%w: %q", ErrAmount, s)
	}
	n, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil || Cents(n) > maxCents {
		return 0, fmt.Errorf("%w: %q", ErrAmount, s)
	}
	if negative {
		n = -n
	}
	return Cents(n), nil
}

func allDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// String writes the amount in the form that [ParseCents] reads.
func (c Cents) String() string {
	sign := ""
	if c < 0 {
		sign = "-"
		c = -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, int64(c)/100, int64(c)%100)
}

// Abs is the amount without its sign.
func (c Cents) Abs() Cents {
	if c < 0 {
		return -c
	}
	return c
}

// Transposed reports whether a and b differ by two neighbouring digits that changed places, the slip of
// somebody who typed one from the other. Amounts of different sign never are.
func Transposed(a, b Cents) bool {
	if a == b || (a < 0) != (b < 0) {
		return false
	}
	x, y := strconv.FormatInt(int64(a.Abs()), 10), strconv.FormatInt(int64(b.Abs()), 10)
	width := max(len(x), len(y))
	x, y = strings.Repeat("0", width-len(x))+x, strings.Repeat("0", width-len(y))+y
	i := 0
	for x[i] == y[i] {
		i++
	}
	return i+1 < width && x[i] == y[i+1] && x[i+1] == y[i] && x[i+2:] == y[i+2:]
}

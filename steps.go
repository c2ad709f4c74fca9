package backoff

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Stepped returns a policy that reads its delays from a list: delays[n-1] after
// the n-th counted failure, and the last of them past the end. The list is
// copied. Delays above opts.Max are cut to it.
//
// It returns an error if delays is empty or holds a negative delay, or if opts
// are invalid.
func Stepped(delays []time.Duration, opts Options) (Policy, error) {
	if len(delays) == 0 {
		return nil, errors.New("backoff: delays is empty")
	}
	for i, d := range delays {
		if d < 0 {
			return nil, invalid(fmt.Sprintf("negative delays[%d]", i), d)
		}
	}
	if err := opts.validate("", 0); err != nil {
		return nil, err
	}
	return newSchedule(stepped(slices.Clone(delays)), len(delays)-1, opts), nil
}

type stepped []time.Duration

func (c stepped) at(i int) time.Duration { return c[i] } // i never exceeds the level

func (c stepped) String() string {
	list := fmt.Sprint([]time.Duration(c))
	return "stepped " + strings.Trim(list, "[]")
}

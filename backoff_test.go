package backoff_test

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/backoff"
)

const (
	ms      = time.Millisecond
	largest = time.Duration(math.MaxInt64)
)

func fibonacci(n int) time.Duration {
	a, b := time.Duration(0), time.Second
	for range min(n, 40) {
		a, b = b, a+b
	}
	return a
}

// parseTests holds the texts of policies and how these print.
var parseTests = []struct{ text, want string }{
	{"exponential 15s ×2, max 12h, free 3, jitter ±20%", "exponential 15s ×2, max 12h0m0s, free 3, jitter ±20%"},
	{"linear 1 second +500 milliseconds, max 1 minute", "linear 1s +500ms, max 1m0s"},
	{"constant 5s, jitter full", "constant 5s, jitter full"},
	{"stepped 15s 1m 5m 2h, jitter between 0.8 and 1", "stepped 15s 1m0s 5m0s 2h0m0s, jitter between 0.8 and 1"},

	{"  exponential   1  second   x1.5  ,max   1 hour  30 minutes  ,  free  3 ", "exponential 1s ×1.5, max 1h30m0s, free 3"},
	{"exponential 1 hour 30 minutes ×1e3", "exponential 1h30m0s ×1000"},
	{"exponential 1s x0x1p4", "exponential 1s ×16"},
	{"exponential 1s ×0x1p4", "exponential 1s ×16"},
	{"exponential 1s × 2, jitter ± 20%", "exponential 1s ×2, jitter ±20%"},
	{"linear 1s + 2s", "linear 1s +2s"},
	{"linear +1s ++2s", "linear 1s +2s"},
	{"exponential +1s x2", "exponential 1s ×2"},
	{"\texponential 1s\nx2,\r\n\tmax\t1h ", "exponential 1s ×2, max 1h0m0s"},
	{"linear 0 +1.5 days", "linear 0s +36h0m0s"},
	{"linear 1s +0", "linear 1s +0s"},
	{"stepped 0", "stepped 0s"},
	{"constant 1s, jitter ±0.7%, free 2, max 1s", "constant 1s, max 1s, free 2, jitter ±0.7%"},
	{"constant 1s, max 0s, free 0, jitter none", "constant 1s"},
	{"constant 1s, jitter 20%", "constant 1s, jitter ±20%"},
	{"constant 1s, jitter 20 %", "constant 1s, jitter ±20%"},
	{"constant 1s, jitter 0.2", "constant 1s, jitter ±20%"},
	{"constant 1s, jitter ±0.2", "constant 1s, jitter ±20%"},
	{"constant 1s, jitter 2e1%", "constant 1s, jitter ±20%"},
	{"constant 1s, jitter 0", "constant 1s, jitter ±0%"},
	{"constant 1s, jitter -0%", "constant 1s, jitter ±0%"},
	{"constant 1s, jitter between 0 and 1", "constant 1s, jitter full"},
	{"constant 1s, jitter between -0 and 1.5", "constant 1s, jitter between 0 and 1.5"},
}

func TestParse(t *testing.T) {
	for _, test := range parseTests {
		p, err := backoff.Parse(test.text)
		if got := fmt.Sprint(p); got != test.want || err != nil {
			t.Errorf("Parse(%q) = %s, %v, want %s", test.text, got, err, test.want)
		}
	}
}

const wantUnits = "(want ns, us, ms, s, sec, m, min, h, hr, d, w, or a word from nanosecond to week)"

// parseErrorTests holds what is wrong with a text.
var parseErrorTests = []struct{ text, fault string }{
	{"", `unknown schedule "" (want exponential, linear, constant or stepped)`},
	{" ", `unknown schedule "" (want exponential, linear, constant or stepped)`},
	{",", `unknown schedule "" (want exponential, linear, constant or stepped)`},
	{"expo 15s, maxx 3", `unknown schedule "expo" (want exponential, linear, constant or stepped)`},
	{"custom", `unknown schedule "custom" (want exponential, linear, constant or stepped)`},
	{"15s", `unknown schedule "15s" (want exponential, linear, constant or stepped)`},
	{"expo 15s ×2", `unknown schedule "expo" (want exponential, linear, constant or stepped)`},
	{"Exponential 15s ×2", `unknown schedule "Exponential" (want exponential, linear, constant or stepped)`},

	{"exponential", "missing factor"},
	{"exponential 15s", "missing factor"},
	{"exponential 1 second", "missing factor"},
	{"exponential 15s 2", "missing factor"},
	{"exponential 15s 2x", "missing factor"},
	{"exponential 15s ×two", `invalid factor "two"`},
	{"exponential 15s ×", `invalid factor ""`},
	{"exponential 15s ××2", `invalid factor "×2"`},
	{"exponential 15s xx2", `invalid factor "x2"`},
	{"exponential 15s ×1e999", `invalid factor "1e999"`},
	{"exponential 15s ×0.5", "factor below 1: 0.5"},
	{"exponential 15s ×inf", "factor not finite: +Inf"},
	{"exponential ×2", `missing number in duration ""`},
	{"exponential 15 ×2", `missing unit in duration "15"`},
	{"exponential 15s ×2x", `invalid factor "2x"`},
	{"exponential 15s ×2 max 1h", `invalid factor "2 max 1h"`},
	{"exponential 15s ×2 x2", `invalid factor "2 x2"`},
	{"exponential 15s ×2, max 1s", "base 15s above Max 1s"},
	{"exponential 15h ×2, max 12h", "base 15h0m0s above Max 12h0m0s"},
	{"exponential -15s ×2", "negative base -15s"},
	{"exponential 0s ×2", "base not above 0: 0s"},
	{"linear 1s", "missing step"},
	{"linear 1s 1s", "missing step"},
	{"linear +1s", "missing step"},
	{"linear 1s+1s", "missing step"},
	{"linear +1s 1s", "missing step"},
	{"linear 1s +1s max 1h", `missing number in duration "1s max 1h"`},
	{"linear 1 +1s", `missing unit in duration "1"`},
	{"linear 1s +1", `missing unit in duration "1"`},
	{"linear 1s +-1s", "negative step -1s"},
	{"linear 0 +0", "base and step both 0s"},
	{"constant", `missing number in duration ""`},
	{"constant 5", `missing unit in duration "5"`},
	{"constant 5s ×2", `missing number in duration "5s ×2"`},
	{"stepped", "delays is empty"},
	{"stepped 15s 1 m", `missing unit in duration "1"`},
	{"stepped 15s -1m", "negative delays[1] -1m0s"},
	{"stepped 15s;1m", "unknown unit \"s;\" " + wantUnits + " in duration \"15s;1m\""},

	{"exponential 15s ×2, maxx 3s", `unknown option "maxx"`},
	{"exponential 15s ×2, Max 3m", `unknown option "Max"`},
	{"exponential 15s ×2, source *rand.PCG", `unknown option "source"`},
	{"exponential 15s ×2,", "missing option"},
	{"exponential 15s ×2, , free 1", "missing option"},
	{"exponential 15s ×2, max 1h, free 1, max 2h", `repeated option "max"`},
	{"exponential 15s ×2, free 1, free 1", `repeated option "free"`},
	{"exponential 15s ×2, jitter full, jitter full", `repeated option "jitter"`},
	{"exponential 15s ×2, max", `missing number in duration ""`},
	{"exponential 15s ×2, max 12h free 3", `missing number in duration "12h free 3"`},
	{"exponential 15s ×2, max -1s", "negative Max -1s"},
	{"exponential 15s ×2, max of 3s", `missing number in duration "of 3s"`},
	{"exponential 15s ×2, free", `invalid free ""`},
	{"exponential 15s ×2, free 1.5", `invalid free "1.5"`},
	{"exponential 15s ×2, free 0x10", `invalid free "0x10"`},
	{"exponential 15s ×2, free 9223372036854775808", `invalid free "9223372036854775808"`},
	{"exponential 15s ×2, free -1", "negative Free -1"},
	{"exponential 15s ×2, jitter", `invalid jitter ""`},
	{"exponential 15s ×2, jitter 20 percent", `invalid jitter "20 percent"`},
	{"exponential 15s ×2, jitter ±", `invalid jitter "±"`},
	{"exponential 15s ×2, jitter ±±20%", `invalid jitter "±±20%"`},
	{"exponential 15s ×2, jitter 20%±", `invalid jitter "20%±"`},
	{"exponential 15s ×2, jitter 20%%", `invalid jitter "20%%"`},
	{"exponential 15s ×2, jitter ±inf%", `invalid jitter "±inf%"`},
	{"exponential 15s ×2, jitter Full", `invalid jitter "Full"`},
	{"exponential 15s ×2, jitter 120%", "jitter fraction outside [0, 1]: 1.2"},
	{"exponential 15s ×2, jitter ±-1", "jitter fraction outside [0, 1]: -1"},
	{"exponential 15s ×2, jitter nan", "jitter fraction outside [0, 1]: NaN"},
	{"exponential 15s ×2, jitter between 1 and 0.5", "jitter low 1 above high 0.5"},
	{"exponential 15s ×2, jitter between 0.5", `invalid jitter "between 0.5"`},
	{"exponential 15s ×2, jitter between 0.5 1", `invalid jitter "between 0.5 1"`},
	{"exponential 15s ×2, jitter between half and 1", `invalid jitter "between half and 1"`},
	{"exponential 15s ×2, jitter between 0.5 and one", `invalid jitter "between 0.5 and one"`},
	{"exponential 15s ×2\xff", `invalid factor "2\xff"`}, // not UTF-8
}

func TestParseErrors(t *testing.T) {
	for _, test := range parseErrorTests {
		p, err := backoff.Parse(test.text)
		want := fmt.Sprintf("backoff: %s in policy %q", test.fault, test.text)
		if p != nil || err == nil || err.Error() != want {
			t.Errorf("Parse(%q) = %v, %v, want nil, %s", test.text, p, err, want)
		}
	}
}

// What Parse accepts prints as a text of the same policy.
func FuzzParse(f *testing.F) {
	for _, test := range parseTests {
		f.Add(test.text)
	}
	for _, test := range parseErrorTests {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := backoff.Parse(text)
		config := backoff.Config{Policy: backoff.Must(backoff.Constant(1, backoff.Options{}))}
		before := config.Policy
		if configErr := config.UnmarshalText([]byte(text)); fmt.Sprint(configErr) != fmt.Sprint(err) {
			t.Errorf("UnmarshalText(%q) = %v, Parse: %v", text, configErr, err)
		}
		if err != nil {
			fault, ok := strings.CutPrefix(err.Error(), "backoff: ")
			if !ok || strings.HasPrefix(fault, "backoff: ") || !strings.HasSuffix(fault, fmt.Sprintf(" in policy %q", text)) {
				t.Errorf("Parse(%q): %v", text, err)
			}
			if p != nil || config.Policy != before {
				t.Errorf("Parse(%q) = %v and UnmarshalText leaves %v beside an error", text, p, config.Policy)
			}
			return
		}
		again, err := backoff.Parse(fmt.Sprint(p))
		if err != nil || !reflect.DeepEqual(again, p) || !reflect.DeepEqual(config.Policy, p) {
			t.Errorf("Parse(%q) prints %v, which reads as %v, %v", text, p, again, err)
		}
	})
}

// A kind of schedule and a kind of jitter, for newPolicy.
const (
	exponential, linear, constant, stepped, custom = 0, 1, 2, 3, 4
	exact, fraction, full, between                 = 0, 1, 2, 3
)

// newPolicy makes a policy of any kind out of numbers, for fuzz targets.
func newPolicy(curve, jitter uint8, x, y int64, factor, low, high float64, opts backoff.Options) (backoff.Policy, error) {
	switch jitter {
	case fraction:
		opts.Jitter = backoff.Fraction(low)
	case full:
		opts.Jitter = backoff.Full()
	case between:
		opts.Jitter = backoff.Between(low, high)
	}
	a, b := time.Duration(x), time.Duration(y)
	switch curve {
	case exponential:
		return backoff.Exponential(a, factor, opts)
	case linear:
		return backoff.Linear(a, b, opts)
	case constant:
		return backoff.Constant(a, opts)
	case stepped:
		return backoff.Stepped([]time.Duration{a, b, a}, opts)
	default:
		return backoff.Custom(func(n int) time.Duration { return a + b*time.Duration(n) }, opts)
	}
}

// What a policy without a Source prints reads as the same policy, down to the last
// bit of every number in it; that of Custom does not read.
func FuzzText(f *testing.F) {
	for _, x := range []float64{0, 1, 0.2, 0.29, 0.007, 0.12345, 1.0 / 3, 1e-9, math.SmallestNonzeroFloat64, 1 - 0x1p-53} {
		f.Add(uint8(constant), uint8(fraction), int64(time.Second), int64(0), 0.0, x, 0.0, int64(time.Minute), 3)
		f.Add(uint8(exponential), uint8(between), int64(largest), int64(0), 1+x, x, 1/(x+1e-300), int64(0), 0)
		f.Add(uint8(linear), uint8(between), int64(1), int64(largest), 0.0, x, 1.0, int64(largest), math.MaxInt32)
		f.Add(uint8(stepped), uint8(exact), int64(1e9+1), int64(333_333_333_333), 0.0, 0.0, 0.0, int64(1), 1)
	}
	f.Add(uint8(custom), uint8(full), int64(1), int64(1), 0.0, 0.0, 0.0, int64(0), 0)
	f.Fuzz(func(t *testing.T, curve, jitter uint8, x, y int64, factor, low, high float64, ceiling int64, free int) {
		opts := backoff.Options{Max: time.Duration(ceiling), Free: free}
		p, err := newPolicy(curve%5, jitter%4, x, y, factor, low, high, opts)
		if err != nil {
			return
		}
		got, err := backoff.Parse(fmt.Sprint(p))
		if curve%5 == custom {
			if got != nil || err == nil {
				t.Errorf("%v reads as %v, %v", p, got, err)
			}
			return
		}
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%v reads as %v, %v", p, got, err)
		}
	})
}

func TestConfigInJSON(t *testing.T) {
	var settings struct{ Retry, Poll backoff.Config }
	text := `{"Retry":"exponential 100ms x2, max 10s","Poll":"constant 1 minute"}`
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		t.Fatal(err)
	}
	if got := settings.Retry.Delay(2); got != 200*ms {
		t.Errorf("Delay(2) = %v, want 200ms", got)
	}
	want := `{"Retry":"exponential 100ms ×2, max 10s","Poll":"constant 1m0s"}`
	if got, err := json.Marshal(settings); string(got) != want || err != nil {
		t.Errorf("Marshal = %s, %v, want %s", got, err, want)
	}
	for _, text := range []string{`{"Retry": "constant 5"}`, `{"Retry": ""}`, `{"Retry": 15}`} {
		if err := json.Unmarshal([]byte(text), &settings); err == nil {
			t.Errorf("Unmarshal(%s) = nil, want an error", text)
		}
		if got, err := json.Marshal(settings); string(got) != want || err != nil {
			t.Errorf("Unmarshal(%s) leaves %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestConfigAsFlag(t *testing.T) {
	var retry backoff.Config
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(&retry, "retry", backoff.Config{Policy: backoff.Must(backoff.Constant(1, backoff.Options{}))}, "")
	if got := flags.Lookup("retry").DefValue; got != "constant 1ns" {
		t.Errorf("default = %s, want constant 1ns", got)
	}
	if err := flags.Parse([]string{"-retry", "linear 1s +1s"}); err != nil || retry.Delay(3) != 3*time.Second {
		t.Errorf("Parse = %v, Delay(3) = %v, want 3s", err, retry.Delay(3))
	}
	if err := flags.Parse([]string{"-retry", "linear 1s"}); err == nil || retry.Delay(3) != 3*time.Second {
		t.Errorf("Parse = %v, Delay(3) = %v, want an error and 3s", err, retry.Delay(3))
	}
}

// other is a Policy that has no text.
type other struct{ backoff.Policy }

func TestConfigWrites(t *testing.T) {
	p := backoff.Must(backoff.Linear(1, 2, backoff.Options{}))
	for _, test := range []struct {
		policy backoff.Policy
		text   string
		fault  string
	}{
		{p, "linear 1ns +2ns", ""},
		{backoff.Config{Policy: p}, "linear 1ns +2ns", ""}, // of another type, with a text
		{backoff.Must(backoff.Custom(fibonacci, backoff.Options{})), "custom", ""},
		{nil, "", ""},
		{other{p}, "", "backoff: no text for a policy of type backoff_test.other"},
	} {
		got, err := backoff.Config{Policy: test.policy}.MarshalText()
		if string(got) != test.text || (got == nil) != (test.fault != "") || (err != nil || test.fault != "") && fmt.Sprint(err) != test.fault {
			t.Errorf("MarshalText of %T = %q, %v, want %q, %s", test.policy, got, err, test.text, test.fault)
		}
	}
}

// delayTests maps attempts to the delays wanted, for policies without jitter.
var delayTests = []struct {
	policy backoff.Policy
	want   map[int]time.Duration
}{
	{
		policy: backoff.Must(backoff.Exponential(100*ms, 2, backoff.Options{})),
		want: map[int]time.Duration{
			math.MinInt: 0, -1: 0, 0: 0,
			1: 100 * ms, 2: 200 * ms, 3: 400 * ms, 37: 100 * ms << 36,
			38: largest, 64: largest, 65: largest, 1025: largest, math.MaxInt: largest,
		},
	},
	{
		policy: backoff.Must(backoff.Exponential(100*ms, 2, backoff.Options{Max: time.Second})),
		want: map[int]time.Duration{
			4: 800 * ms, 5: time.Second, 6: time.Second, 64: time.Second, 65: time.Second,
			200: time.Second, 1025: time.Second, 1e6: time.Second, math.MaxInt: time.Second,
		},
	},
	{
		policy: backoff.Must(backoff.Exponential(1, 2, backoff.Options{})),
		want:   map[int]time.Duration{1: 1, 63: 1 << 62, 64: largest, math.MaxInt: largest},
	},
	{
		policy: backoff.Must(backoff.Exponential(1, 1<<62, backoff.Options{})),
		want:   map[int]time.Duration{1: 1, 2: 1 << 62, 3: largest, 4: largest}, // 2¹²⁴ at 3
	},
	{
		policy: backoff.Must(backoff.Exponential(1, math.MaxFloat64, backoff.Options{})),
		want:   map[int]time.Duration{1: 1, 2: largest, 3: largest, math.MaxInt: largest},
	},
	{
		policy: backoff.Must(backoff.Exponential(10*ms, 1.4, backoff.Options{})),
		want:   map[int]time.Duration{2: 14 * ms, 3: 19600 * time.Microsecond},
	},
	{
		policy: backoff.Must(backoff.Exponential(10*ms, 1.2, backoff.Options{})),
		want:   map[int]time.Duration{7: 29859840},
	},
	{
		policy: backoff.Must(backoff.Exponential(1<<53+1, 1.5, backoff.Options{})),
		want:   map[int]time.Duration{1: 1<<53 + 1, 2: 13510798882111490}, // half a nanosecond goes up
	},
	{
		policy: backoff.Must(backoff.Exponential(1<<63-2048, 1+0x1p-52, backoff.Options{Max: largest - 1})),
		want:   map[int]time.Duration{2: largest - 1}, // of 2⁶³
	},
	{
		policy: backoff.Must(backoff.Exponential(largest, 1, backoff.Options{})),
		want:   map[int]time.Duration{1: largest, 2: largest, math.MaxInt: largest},
	},
	{
		policy: backoff.Must(backoff.Exponential(1, 1+0x1p-52, backoff.Options{})), // the slowest there is
		want:   map[int]time.Duration{1: 1, 1e6: 1, math.MaxInt32: 1},
	},
	{
		policy: backoff.Must(backoff.Exponential(100*ms, 1.0001, backoff.Options{Max: time.Minute})),
		want: map[int]time.Duration{
			1: 100 * ms, 64: 100631957, 65: 100642020, 66: 100652084, // where the table ends
			63972: 59991031337, 63973: 59997030440, 63974: time.Minute, 63975: time.Minute, // where Max is reached
			math.MaxInt: time.Minute,
		},
	},
	{
		policy: backoff.Must(backoff.Linear(time.Second, 500*ms, backoff.Options{})),
		want:   map[int]time.Duration{-1: 0, 0: 0, 1: time.Second, 2: 1500 * ms, 64: 32500 * ms, 65: 33 * time.Second},
	},
	{
		policy: backoff.Must(backoff.Linear(time.Second, 500*ms, backoff.Options{Max: 2100 * ms})),
		want:   map[int]time.Duration{3: 2 * time.Second, 4: 2100 * ms, 5: 2100 * ms, math.MaxInt: 2100 * ms},
	},
	{
		policy: backoff.Must(backoff.Linear(time.Hour, time.Hour, backoff.Options{})),
		want: map[int]time.Duration{
			2562047: 2562047 * time.Hour, 2562048: largest, 2562049: largest, math.MaxInt: largest,
		},
	},
	{
		policy: backoff.Must(backoff.Linear(0, 1<<62, backoff.Options{})),
		want:   map[int]time.Duration{2: 1 << 62, 3: largest, 4: largest, 5: largest}, // 2⁶⁴ at 5
	},
	{
		policy: backoff.Must(backoff.Linear(1, largest, backoff.Options{Max: largest - 1})),
		want:   map[int]time.Duration{2: largest - 1}, // of 2⁶³
	},
	{
		policy: backoff.Must(backoff.Linear(10, 4, backoff.Options{})), // 2⁶⁵ far out
		want:   map[int]time.Duration{1: 10, 2: 14, 1000: 4006},
	},
	{
		policy: backoff.Must(backoff.Linear(largest, 0, backoff.Options{})),
		want:   map[int]time.Duration{1: largest, 2: largest, math.MaxInt: largest},
	},
	{
		policy: backoff.Must(backoff.Linear(largest, largest, backoff.Options{})),
		want:   map[int]time.Duration{1: largest, 2: largest, 3: largest, math.MaxInt: largest},
	},
	{
		policy: backoff.Must(backoff.Constant(0, backoff.Options{})),
		want:   map[int]time.Duration{0: 0, 1: 0, 2: 0},
	},
	{
		policy: backoff.Must(backoff.Constant(time.Second, backoff.Options{Free: 1, Max: time.Second})),
		want:   map[int]time.Duration{math.MinInt: 0, 0: 0, 1: 0, 2: time.Second, 3: time.Second, math.MaxInt: time.Second},
	},
	{
		policy: backoff.Must(backoff.Constant(time.Second, backoff.Options{Free: math.MaxInt})),
		want:   map[int]time.Duration{math.MinInt: 0, math.MinInt + 1: 0, -1: 0, 0: 0, 1: 0, math.MaxInt: 0},
	},
	{
		policy: backoff.Must(backoff.Stepped([]time.Duration{3, 1, 2}, backoff.Options{Free: 2})),
		want:   map[int]time.Duration{0: 0, 1: 0, 2: 0, 3: 3, 4: 1, 5: 2, 6: 2, math.MaxInt: 2},
	},
	{
		policy: backoff.Must(backoff.Stepped([]time.Duration{3, 1, 2}, backoff.Options{Max: 1})),
		want:   map[int]time.Duration{1: 1, 2: 1, 3: 1, 4: 1},
	},
	{
		policy: backoff.Must(backoff.Stepped(append(make([]time.Duration, 99), 5), backoff.Options{})), // longer than the table
		want:   map[int]time.Duration{1: 0, 64: 0, 65: 0, 99: 0, 100: 5, 101: 5, math.MaxInt: 5},
	},
	{
		policy: backoff.Must(backoff.Custom(fibonacci, backoff.Options{Free: 1, Max: 10 * time.Second})),
		want: map[int]time.Duration{
			-1: 0, 0: 0, 1: 0, 2: time.Second, 3: time.Second, 4: 2 * time.Second, 5: 3 * time.Second,
			6: 5 * time.Second, 7: 8 * time.Second, 8: 10 * time.Second, math.MaxInt: 10 * time.Second,
		},
	},
	{
		policy: backoff.Must(backoff.Custom(func(n int) time.Duration { return time.Duration(2 - n) }, backoff.Options{})),
		want:   map[int]time.Duration{1: 1, 2: 0, 3: 0, math.MaxInt32: 0},
	},
}

func TestDelay(t *testing.T) {
	for _, test := range delayTests {
		for attempt, want := range test.want {
			if got := test.policy.Delay(attempt); got != want {
				t.Errorf("%v: Delay(%d) = %v, want %v", test.policy, attempt, got, want)
			}
		}
	}
}

func TestDelayNeverFalls(t *testing.T) {
	for _, p := range []backoff.Policy{
		backoff.Must(backoff.Exponential(1, 1.01, backoff.Options{})),
		backoff.Must(backoff.Exponential(1000*time.Hour, 1+0x1p-52, backoff.Options{})),
		backoff.Must(backoff.Exponential(100*ms, 1.001, backoff.Options{Max: time.Second})),
		backoff.Must(backoff.Linear(largest-1000, 7, backoff.Options{})),
	} {
		for attempt := 1; attempt <= 5000; attempt++ {
			if d, next := p.Delay(attempt), p.Delay(attempt+1); next < d {
				t.Errorf("%v: Delay(%d) = %v, then %v", p, attempt, d, next)
			}
		}
	}
}

// exactDelay is base·factorⁿ⁻¹ in math/big, to 300 bits.
func exactDelay(base time.Duration, factor float64, n int) *big.Float {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	product, power := number(1), number(factor)
	for n--; n > 0 && power.MantExp(nil) < 1e6; n >>= 1 {
		if n&1 == 1 {
			product.Mul(product, power)
		}
		power.Mul(power, power)
	}
	if n > 0 { // the power is past 2^1e6, and so is the product
		product.Mul(product, power)
	}
	return product.Mul(product, number(0).SetInt64(int64(base)))
}

// nearest returns x to the nearest nanosecond, or the largest Duration for more
// than that.
func nearest(x *big.Float) time.Duration {
	n, _ := new(big.Float).Add(x, big.NewFloat(0.5)).Int(nil)
	if !n.IsInt64() {
		return largest
	}
	return time.Duration(n.Int64())
}

func TestExponentialAgainstBig(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		base := time.Duration(max(rng.Int64()>>rng.IntN(63), 1))
		factor := 1 + rng.ExpFloat64()*math.Pow(10, -rng.Float64()*16)
		// Most attempts are of those before the end, ln(2⁶³/base)/ln(factor).
		end := math.Log(0x1p63/float64(base+1)) / math.Log(factor)
		attempt := 1 + int(min(rng.Float64()*end*1.1, math.MaxInt32-1))
		p := backoff.Must(backoff.Exponential(base, factor, backoff.Options{}))
		want := nearest(exactDelay(base, factor, attempt))
		if got := p.Delay(attempt); got != want {
			t.Errorf("%v: Delay(%d) = %d ns, want %d", p, attempt, got, want)
		}
	}
	p := backoff.Must(backoff.Exponential(1, 1+0x1p-52, backoff.Options{}))
	for shift := range 30 { // far out: with an int of 64 bits, attempt 2⁵² comes to e
		attempt := math.MaxInt >> shift
		want := nearest(exactDelay(1, 1+0x1p-52, attempt))
		if got := p.Delay(attempt); got != want {
			t.Errorf("%v: Delay(%d) = %d ns, want %d", p, attempt, got, want)
		}
	}
}

func FuzzExponential(f *testing.F) {
	f.Add(int64(100*ms), 2.0, 38)
	f.Add(int64(1), 2.0, 64)
	f.Add(int64(10*ms), 1.4, 3)
	f.Add(int64(1<<53+1), 1.5, 2)
	f.Add(int64(1<<40), 1+0x1p-52, math.MaxInt32)
	f.Add(int64(math.MaxInt64), math.MaxFloat64, 2)
	f.Fuzz(func(t *testing.T, base int64, factor float64, attempt int) {
		p, err := backoff.Exponential(time.Duration(base), factor, backoff.Options{})
		if err != nil || attempt < 1 || attempt > math.MaxInt32 { // past that, the oracle takes long
			return
		}
		want := nearest(exactDelay(time.Duration(base), factor, attempt))
		if got := p.Delay(attempt); got != want {
			t.Errorf("%v: Delay(%d) = %d ns, want %d", p, attempt, got, want)
		}
	})
}

func TestLinearAgainstBig(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		base, step := rng.Int64()>>rng.IntN(63), max(rng.Int64()>>rng.IntN(63), 1)
		attempt := 1 + rng.Int()>>1>>rng.IntN(62)
		want := big.NewInt(int64(attempt - 1))
		want.Mul(want, big.NewInt(step))
		want.Add(want, big.NewInt(base))
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		p := backoff.Must(backoff.Linear(time.Duration(base), time.Duration(step), backoff.Options{}))
		if got := p.Delay(attempt); int64(got) != want.Int64() {
			t.Errorf("%v: Delay(%d) = %d ns, want %v", p, attempt, got, want)
		}
	}
}

func TestSteppedCopiesDelays(t *testing.T) {
	delays := slices.Repeat([]time.Duration{time.Second}, 100)
	p := backoff.Must(backoff.Stepped(delays, backoff.Options{}))
	for i := range delays {
		delays[i] = time.Hour
	}
	for _, attempt := range []int{1, 99, 100, 101} {
		if got := p.Delay(attempt); got != time.Second {
			t.Errorf("Delay(%d) = %v after a change of the slice, want 1s", attempt, got)
		}
	}
	if s := p.(fmt.Stringer).String(); strings.Contains(s, "h") {
		t.Errorf("String() = %q after a change of the slice", s)
	}
}

func TestCustomCallsCurveOnce(t *testing.T) {
	var calls []int
	curve := func(n int) time.Duration { calls = append(calls, n); return 1 }
	p := backoff.Must(backoff.Custom(curve, backoff.Options{Free: 2, Jitter: backoff.Full()}))
	for _, attempt := range []int{-1, 0, 1, 2, 3, 4, 100, math.MaxInt} {
		p.Delay(attempt)
	}
	p.At(5, time.Time{})
	if want := []int{1, 2, 98, math.MaxInt - 2, 3}; !slices.Equal(calls, want) {
		t.Errorf("curve was called with %d, want %d", calls, want)
	}
}

func TestCurvePanicLeavesPolicyUsable(t *testing.T) {
	curve := func(n int) time.Duration { return time.Duration(12 / (3 - n)) }
	p := backoff.Must(backoff.Custom(curve, backoff.Options{Jitter: backoff.Fraction(0), Source: rand.NewPCG(1, 2)}))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Delay(3) does not panic")
			}
		}()
		p.Delay(3)
	}()
	if got := p.Delay(1); got != 6 {
		t.Errorf("Delay(1) = %d ns, want 6", got)
	}
}

func TestErrors(t *testing.T) {
	const second = time.Second
	var none backoff.Options
	nan, inf := math.NaN(), math.Inf(1)
	tiny, above := math.SmallestNonzeroFloat64, math.Nextafter(1, 2)
	limited := backoff.Options{Max: second}
	fault := func(p backoff.Policy, err error) string {
		if p != nil || err == nil {
			return fmt.Sprintf("policy %v and error %v", p, err)
		}
		return err.Error()
	}
	type row struct{ got, want string }
	tests := []row{
		{fault(backoff.Exponential(-1, 2, none)), "backoff: negative base -1ns"},
		{fault(backoff.Exponential(0, 2, none)), "backoff: base not above 0: 0s"},
		{fault(backoff.Exponential(second+1, 2, limited)), "backoff: base 1.000000001s above Max 1s"},
		{fault(backoff.Exponential(second, math.Nextafter(1, 0), none)), "backoff: factor below 1: 0.9999999999999999"},
		{fault(backoff.Exponential(second, -2, none)), "backoff: factor below 1: -2"},
		{fault(backoff.Exponential(second, nan, none)), "backoff: factor not finite: NaN"},
		{fault(backoff.Exponential(second, inf, none)), "backoff: factor not finite: +Inf"},
		{fault(backoff.Exponential(second, -inf, none)), "backoff: factor not finite: -Inf"},
		{fault(backoff.Linear(-1, second, none)), "backoff: negative base -1ns"},
		{fault(backoff.Linear(0, 0, none)), "backoff: base and step both 0s"},
		{fault(backoff.Linear(second, -1, none)), "backoff: negative step -1ns"},
		{fault(backoff.Linear(second+1, second, limited)), "backoff: base 1.000000001s above Max 1s"},
		{fault(backoff.Constant(-1, none)), "backoff: negative delay -1ns"},
		{fault(backoff.Constant(second+1, limited)), "backoff: delay 1.000000001s above Max 1s"},
		{fault(backoff.Stepped(nil, none)), "backoff: delays is empty"},
		{fault(backoff.Stepped([]time.Duration{}, none)), "backoff: delays is empty"},
		{fault(backoff.Stepped([]time.Duration{0, second, -1}, none)), "backoff: negative delays[2] -1ns"},
		{fault(backoff.Custom(nil, none)), "backoff: curve is nil"},
	}
	for _, bad := range []struct {
		opts backoff.Options
		want string
	}{
		{backoff.Options{Max: -1}, "backoff: negative Max -1ns"},
		{backoff.Options{Free: -1}, "backoff: negative Free -1"},
		{backoff.Options{Jitter: backoff.Fraction(-tiny)}, "backoff: jitter fraction outside [0, 1]: -5e-324"},
		{backoff.Options{Jitter: backoff.Fraction(above)}, "backoff: jitter fraction outside [0, 1]: 1.0000000000000002"},
		{backoff.Options{Jitter: backoff.Fraction(nan)}, "backoff: jitter fraction outside [0, 1]: NaN"},
		{backoff.Options{Jitter: backoff.Between(-tiny, 1)}, "backoff: negative jitter low -5e-324"},
		{backoff.Options{Jitter: backoff.Between(above, 1)}, "backoff: jitter low 1.0000000000000002 above high 1"},
		{backoff.Options{Jitter: backoff.Between(nan, 1)}, "backoff: jitter low not finite: NaN"},
		{backoff.Options{Jitter: backoff.Between(-inf, 1)}, "backoff: jitter low not finite: -Inf"},
		{backoff.Options{Jitter: backoff.Between(0, nan)}, "backoff: jitter high not finite: NaN"},
		{backoff.Options{Jitter: backoff.Between(0, inf)}, "backoff: jitter high not finite: +Inf"},
	} {
		tests = append(tests,
			row{fault(backoff.Exponential(1, 2, bad.opts)), bad.want},
			row{fault(backoff.Linear(1, 1, bad.opts)), bad.want},
			row{fault(backoff.Constant(1, bad.opts)), bad.want},
			row{fault(backoff.Stepped([]time.Duration{1}, bad.opts)), bad.want},
			row{fault(backoff.Custom(fibonacci, bad.opts)), bad.want},
		)
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}

func TestMust(t *testing.T) {
	p, err := backoff.Constant(1, backoff.Options{})
	if got := backoff.Must(p, err); got != p {
		t.Errorf("Must(p, nil) = %v, want %v", got, p)
	}
	_, err = backoff.Constant(-1, backoff.Options{})
	defer func() {
		if got := recover(); got != err {
			t.Errorf("Must(nil, err) panics with %v, want %v", got, err)
		}
	}()
	backoff.Must(nil, err)
}

func FuzzDelay(f *testing.F) {
	add := func(curve, jitter uint8, x, y time.Duration, factor float64, ceiling time.Duration, free, attempt int) {
		f.Add(curve, jitter, int64(x), int64(y), factor, 0.5, 1.0, int64(ceiling), free, attempt)
	}
	add(exponential, exact, 100*ms, 0, 2, time.Second, 0, 5)
	add(exponential, exact, 1, 0, 2, 0, 0, 63)
	add(exponential, exact, 1, 0, math.MaxFloat64, 0, 0, 1025)
	add(exponential, between, 1, 0, 1.5, time.Second, 0, 100)
	add(exponential, fraction, largest, 0, 1.5, 0, 3, math.MaxInt)
	add(exponential, exact, 100*ms, 0, 1.0001, time.Minute, 0, 63973)
	add(linear, exact, time.Hour, time.Hour, 0, 0, 0, 2562047)
	add(linear, full, 10, 4, 0, 0, 1, 1000)
	add(constant, between, largest, 0, 0, 0, math.MaxInt, math.MinInt)
	add(stepped, full, 3, 1, 0, 2, 2, 5)
	add(custom, full, 5, -1, 0, 3, 0, 7)
	f.Fuzz(func(t *testing.T, curve, jitter uint8, x, y int64, factor, low, high float64, ceiling int64, free, attempt int) {
		curve, jitter = curve%5, jitter%4
		opts := backoff.Options{Max: time.Duration(ceiling), Free: free, Source: rand.NewPCG(1, 2)}
		p, err := newPolicy(curve, jitter, x, y, factor, low, high, opts)
		if err != nil {
			if p != nil || !strings.HasPrefix(err.Error(), "backoff: ") {
				t.Errorf("policy = %v, error = %v", p, err)
			}
			return
		}
		d := p.Delay(attempt)
		if d < 0 || (attempt <= free || attempt < 1) && d != 0 {
			t.Errorf("%v: Delay(%d) = %v", p, attempt, d)
		}
		if (jitter == full || jitter == between && high <= 1) && opts.Max > 0 && d > opts.Max {
			t.Errorf("%v: Delay(%d) = %v, above Max", p, attempt, d)
		}
		if jitter == exact && (curve == exponential || curve == linear) && attempt < math.MaxInt {
			if next := p.Delay(attempt + 1); next < d {
				t.Errorf("%v: Delay(%d) = %v, then %v", p, attempt, d, next)
			}
		}
	})
}

func TestAt(t *testing.T) {
	zone := time.FixedZone("UTC+5:45", 5*3600+45*60)
	for _, now := range []time.Time{
		{},
		time.Now(), // with a monotonic clock reading
		time.Date(2026, 11, 30, 12, 0, 0, 1, zone),
	} {
		for _, test := range delayTests {
			for attempt, want := range test.want {
				if got := test.policy.At(attempt, now); got != now.Add(want) {
					t.Errorf("%v: At(%d, %v) = %v, want %v", test.policy, attempt, now, got, now.Add(want))
				}
			}
		}
	}
}

func TestString(t *testing.T) {
	tests := []struct {
		policy backoff.Policy
		want   string
	}{
		{
			policy: backoff.Must(backoff.Exponential(15*time.Second, 2, backoff.Options{
				Max: 12 * time.Hour, Free: 3, Jitter: backoff.Fraction(0.2),
			})),
			want: "exponential 15s ×2, max 12h0m0s, free 3, jitter ±20%",
		},
		{
			policy: backoff.Must(backoff.Exponential(1, 1.5, backoff.Options{Jitter: backoff.Fraction(0)})),
			want:   "exponential 1ns ×1.5, jitter ±0%",
		},
		{
			policy: backoff.Must(backoff.Linear(time.Second, 500*ms, backoff.Options{Jitter: backoff.Full()})),
			want:   "linear 1s +500ms, jitter full",
		},
		{
			policy: backoff.Must(backoff.Constant(time.Minute, backoff.Options{Jitter: backoff.Between(0.5, 1)})),
			want:   "constant 1m0s, jitter between 0.5 and 1",
		},
		{
			policy: backoff.Must(backoff.Stepped([]time.Duration{time.Second, time.Minute}, backoff.Options{Jitter: backoff.Fraction(0.29)})),
			want:   "stepped 1s 1m0s, jitter ±29%", // 100·0.29 is 28.999…
		},
		{
			policy: backoff.Must(backoff.Linear(0, 1, backoff.Options{Jitter: backoff.Fraction(0.12345)})),
			want:   "linear 0s +1ns, jitter ±12.345%",
		},
		{
			policy: backoff.Must(backoff.Custom(fibonacci, backoff.Options{Max: 1, Source: rand.NewPCG(1, 2)})),
			want:   "custom, max 1ns, source *rand.PCG",
		},
	}
	for _, test := range tests {
		if got := fmt.Sprint(test.policy); got != test.want {
			t.Errorf("fmt prints %s, want %s", got, test.want)
		}
		if _, ok := test.policy.(encoding.TextMarshaler); !ok {
			t.Errorf("%v is no encoding.TextMarshaler", test.policy)
		}
		got, err := json.Marshal(map[string]backoff.Policy{"retry": test.policy})
		if want := `{"retry":"` + test.want + `"}`; err != nil || string(got) != want {
			t.Errorf("encoding/json prints %s, %v, want %s", got, err, want)
		}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "retry", test.policy)
		slog.New(slog.NewTextHandler(&log, nil)).Info("start", "retry", test.policy)
		for _, want := range []string{`"retry":"` + test.want + `"`, `retry="` + test.want + `"`} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("log/slog prints %s, want %s", &log, want)
			}
		}
	}
}

// everyKind returns a policy of each kind under opts.
func everyKind(opts backoff.Options) []backoff.Policy {
	return []backoff.Policy{
		backoff.Must(backoff.Exponential(time.Second, 1.001, opts)),
		backoff.Must(backoff.Linear(time.Second, 1, opts)),
		backoff.Must(backoff.Constant(time.Second, opts)),
		backoff.Must(backoff.Stepped([]time.Duration{time.Second, time.Minute}, opts)),
		backoff.Must(backoff.Custom(fibonacci, opts)),
	}
}

// many calls f from 8 goroutines, 1000 times from each.
func many(f func()) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				f()
			}
		})
	}
	wg.Wait()
}

// The race detector has the last word here.
func TestGoroutinesSharePolicy(t *testing.T) {
	for _, jitter := range []backoff.Jitter{{}, backoff.Full()} {
		opts := backoff.Options{Free: 1, Max: time.Minute, Jitter: jitter}
		for _, p := range everyKind(opts) {
			many(func() {
				for _, attempt := range []int{1, 2, 3, 100, math.MaxInt} {
					if d := p.Delay(attempt); d < 0 || d > time.Minute {
						t.Errorf("%v: Delay(%d) = %v", p, attempt, d)
					}
				}
			})
		}
	}
}

func TestNoAllocation(t *testing.T) {
	now := time.Now()
	for _, opts := range []backoff.Options{
		{},
		{Max: time.Hour, Free: 1, Jitter: backoff.Fraction(0.2)},
		{Jitter: backoff.Full(), Source: rand.NewPCG(1, 2)},
	} {
		for _, p := range everyKind(opts) {
			for _, attempt := range []int{0, 1, 2, 64, 1000, 1e6} {
				if n := testing.AllocsPerRun(100, func() { p.Delay(attempt) }); n != 0 {
					t.Errorf("%v: Delay(%d) makes %v allocations, want 0", p, attempt, n)
				}
				if n := testing.AllocsPerRun(100, func() { p.At(attempt, now) }); n != 0 {
					t.Errorf("%v: At(%d, now) makes %v allocations, want 0", p, attempt, n)
				}
			}
		}
	}
}

// The first 64 delays are looked up, and all of them where a schedule is level within
// these. That saves time and nothing else, so this looks inside the policies: how many
// delays their tables hold, and whether the last of them is that of all later ones.
func TestTable(t *testing.T) {
	steps := func(n int) []time.Duration { return append(make([]time.Duration, n-1), 1) }
	for _, test := range []struct {
		policy backoff.Policy
		len    int
		level  bool
	}{
		{backoff.Must(backoff.Exponential(100*ms, 2, backoff.Options{Max: 10 * time.Second})), 8, true},
		{backoff.Must(backoff.Exponential(time.Second, 2, backoff.Options{Max: time.Second})), 1, true},
		{backoff.Must(backoff.Exponential(time.Second, 1, backoff.Options{})), 1, true},
		{backoff.Must(backoff.Exponential(2, 2, backoff.Options{})), 63, true},
		{backoff.Must(backoff.Exponential(1, 2, backoff.Options{})), 64, true},
		{backoff.Must(backoff.Exponential(1, 1.9, backoff.Options{})), 64, false},
		{backoff.Must(backoff.Linear(1, 0, backoff.Options{})), 1, true},
		{backoff.Must(backoff.Linear(1, 1, backoff.Options{Max: 64})), 64, true},
		{backoff.Must(backoff.Linear(1, 1, backoff.Options{Max: 65})), 64, false},
		{backoff.Must(backoff.Constant(1, backoff.Options{})), 1, true},
		{backoff.Must(backoff.Stepped(steps(64), backoff.Options{})), 64, true},
		{backoff.Must(backoff.Stepped(steps(65), backoff.Options{})), 64, false},
		{backoff.Must(backoff.Custom(fibonacci, backoff.Options{})), 0, false},
	} {
		schedule := reflect.ValueOf(test.policy).Elem()
		table, level := schedule.FieldByName("table"), schedule.FieldByName("level")
		if table.Len() != test.len || level.IsNil() == test.level {
			t.Errorf("%v: table of %d, level: %t, want %d, %t", test.policy, table.Len(), !level.IsNil(), test.len, test.level)
		}
	}
}

func TestSleepWaits(t *testing.T) {
	for _, test := range []struct{ d, want time.Duration }{
		{math.MinInt64, 0},
		{-1, 0},
		{0, 0},
		{1, 1},
		{1000 * time.Hour, 1000 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			if err := backoff.Sleep(t.Context(), test.d); err != nil {
				t.Errorf("Sleep(ctx, %v) = %v, want nil", test.d, err)
			}
			if got := time.Since(start); got != test.want {
				t.Errorf("Sleep(ctx, %v) took %v, want %v", test.d, got, test.want)
			}
		})
	}
}

func TestSleepWithContextDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 1000 { // as a select may choose either way
		for _, d := range []time.Duration{-1, 0, 1, time.Hour} {
			if err := backoff.Sleep(ctx, d); !errors.Is(err, context.Canceled) {
				t.Fatalf("Sleep(cancelled, %v) = %v, want %v", d, err, context.Canceled)
			}
		}
	}
}

func TestSleepEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shutdown := errors.New("shutdown")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(shutdown) })
		start := time.Now()
		if err := backoff.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) || !errors.Is(err, shutdown) {
			t.Errorf("Sleep = %v, want both %v and %v", err, context.Canceled, shutdown)
		}
		if got := time.Since(start); got != time.Minute {
			t.Errorf("Sleep took %v, want 1m", got)
		}
	})
}

// A lateContext is done from an instant on, but is slow to close its channel.
type lateContext struct {
	context.Context
	end time.Time
}

func (c lateContext) Err() error {
	if time.Now().Before(c.end) {
		return nil
	}
	return context.Canceled
}

func TestSleepWithContextDoneAtEndOfWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := lateContext{context.Background(), time.Now().Add(time.Minute)}
		if err := backoff.Sleep(ctx, time.Minute-1); err != nil {
			t.Errorf("Sleep(ctx, 1m - 1ns) = %v, want nil", err)
		}
		if err := backoff.Sleep(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("Sleep(ctx, 1ns) = %v, want %v", err, context.Canceled)
		}
	})
}

// The last instant in which a cancel can end a wait is a nanosecond before its end.
func TestSleepCancelledJustBeforeEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute-1, cancel)
		start := time.Now()
		if err := backoff.Sleep(ctx, time.Minute); !errors.Is(err, context.Canceled) {
			t.Errorf("Sleep = %v, want %v", err, context.Canceled)
		}
		if got := time.Since(start); got != time.Minute-1 {
			t.Errorf("Sleep took %v, want 1m - 1ns", got)
		}
	})
}

// A closedContext is done, with an error of its own type.
type closedContext struct{ context.Context }

type closedError struct{ reason string }

func (e closedError) Error() string { return e.reason }

func (closedContext) Err() error { return closedError{"closed"} }

func TestSleepGivesErrorOfOtherType(t *testing.T) {
	err := backoff.Sleep(closedContext{t.Context()}, time.Hour)
	if got := (closedError{}); !errors.As(err, &got) || got.reason != "closed" {
		t.Errorf("Sleep = %v, want the context's error", err)
	}
}

func TestSleepGivesCause(t *testing.T) {
	shutdown := errors.New("shutdown")
	for _, cause := range []error{nil, shutdown, fmt.Errorf("%w: %w", shutdown, context.Canceled)} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		for _, d := range []time.Duration{-1, 0, time.Hour} {
			err := backoff.Sleep(ctx, d)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, context.Cause(ctx)) {
				t.Errorf("Sleep(ctx, %v) = %v, want both %v and %v", d, err, context.Canceled, context.Cause(ctx))
			}
			if n := strings.Count(err.Error(), context.Canceled.Error()); n != 1 {
				t.Errorf("Sleep(ctx, %v) = %v, which names %v %d times", d, err, context.Canceled, n)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, shutdown)
		defer cancel()
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, d := range []time.Duration{-1, 0, time.Hour} {
			err := backoff.Sleep(ctx, d)
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, shutdown) {
				t.Errorf("Sleep(ctx, %v) = %v, want both %v and %v", d, err, context.DeadlineExceeded, shutdown)
			}
		}
	})
}

func TestSleepPastDeadline(t *testing.T) {
	for _, test := range []struct {
		deadline, d time.Duration
		fits        bool
	}{
		{5 * time.Second, 10 * time.Minute, false},
		{5 * time.Second, 5*time.Second + 1, false},
		{5 * time.Second, 5 * time.Second, false},
		{5 * time.Second, 5*time.Second - 1, true},
		{5 * time.Second, 0, true},
		{5 * time.Second, -time.Hour, true},
		{5 * time.Second, largest, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
			defer cancel()
			start := time.Now()
			err := backoff.Sleep(ctx, test.d)
			if test.fits {
				if err != nil {
					t.Errorf("Sleep(deadline in %v, %v) = %v, want nil", test.deadline, test.d, err)
				}
				return
			}
			want := fmt.Sprintf("backoff: wait of %v would pass the deadline: context deadline exceeded", test.d)
			if !errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
				t.Errorf("Sleep(deadline in %v, %v) = %v, want %s", test.deadline, test.d, err, want)
			}
			if got := time.Since(start); got != 0 {
				t.Errorf("Sleep(deadline in %v, %v) took %v, want 0s", test.deadline, test.d, got)
			}
		})
	}
}

// overdue is a context whose deadline has gone by before its timer has run.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

func TestSleepWithDeadlineGoneBy(t *testing.T) {
	for _, d := range []time.Duration{-time.Hour, 0, 1} {
		err := backoff.Sleep(overdue{t.Context()}, d)
		if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "-") {
			t.Errorf("Sleep(overdue, %v) = %v, want %v, and no negative wait", d, err, context.DeadlineExceeded)
		}
	}
}

func TestSleepWithoutContext(t *testing.T) {
	var none context.Context
	if err := backoff.Sleep(none, 1); err == nil || err.Error() != "backoff: ctx is nil" {
		t.Errorf("Sleep(nil, 1ns) = %v, want an error", err)
	}
}

func TestJitterString(t *testing.T) {
	for _, test := range []struct {
		jitter backoff.Jitter
		want   string
	}{
		{backoff.Jitter{}, "none"},
		{backoff.Full(), "full"},
		{backoff.Between(0, 1), "full"},
		{backoff.Between(0.5, 1), "between 0.5 and 1"},
		{backoff.Between(math.Copysign(0, -1), 0.5), "between 0 and 0.5"},
		{backoff.Between(0, math.Copysign(0, -1)), "between 0 and 0"},
		{backoff.Fraction(0), "±0%"},
		{backoff.Fraction(math.Copysign(0, -1)), "±0%"},
		{backoff.Fraction(0.2), "±20%"},
		{backoff.Fraction(0.29), "±29%"},   // 100·0.29 is 28.999…
		{backoff.Fraction(0.007), "±0.7%"}, // 0.7/100 is not 0.007
		{backoff.Fraction(0.12345), "±12.345%"},
		{backoff.Fraction(0.123456789), "±12.3456789%"},
		{backoff.Fraction(1e-9), "±1e-07%"},
		{backoff.Fraction(1.0 / 3), "±0.3333333333333333"},
		{backoff.Fraction(math.MaxFloat64), "±1.7976931348623157e+308"}, // no policy takes it
	} {
		if got := test.jitter.String(); got != test.want {
			t.Errorf("String() = %s, want %s", got, test.want)
		}
	}
}

// A source is a Source made of a function.
type source func() uint64

func (s source) Uint64() uint64 { return s() }

// ends is a Source that gives the lowest number, then the highest, and so on, and
// counts them in draws.
func ends(draws *int) source {
	return func() uint64 {
		*draws++
		if *draws%2 == 1 {
			return 0
		}
		return math.MaxUint64
	}
}

// rangeTests holds the lowest and the highest delay for a jitter.
var rangeTests = []struct {
	jitter backoff.Jitter
	delay  time.Duration
	low    time.Duration
	high   time.Duration
}{
	{backoff.Fraction(0.2), 10, 8, 12},
	{backoff.Fraction(0.2), 12, 10, 14}, // of 9.6 to 14.4
	{backoff.Fraction(0.2), 20 * time.Second, 16 * time.Second, 24 * time.Second},
	{backoff.Fraction(0.3), 10, 7, 13}, // 0.3·10 as decimals, not as float64s
	{backoff.Fraction(0.7), 10, 3, 17},
	{backoff.Fraction(0.29), 100, 71, 129},
	{backoff.Fraction(1), 10, 0, 20},
	{backoff.Fraction(1), largest, 0, largest},
	{backoff.Fraction(0.1), largest, 8301034833169298175, largest}, // the float64 is above 0.1
	{backoff.Fraction(0.2), 0, 0, 0},
	{backoff.Fraction(0.2), 1, 1, 1},
	{backoff.Fraction(1e-9), time.Second, time.Second - 1, time.Second + 1},
	{backoff.Fraction(1e-300), largest, largest, largest},
	{backoff.Full(), 0, 0, 0},
	{backoff.Full(), 3, 0, 3},
	{backoff.Full(), 1<<53 + 1, 0, 1<<53 + 1},
	{backoff.Full(), largest, 0, largest},
	{backoff.Between(0, 1), largest - 1, 0, largest - 1},
	{backoff.Between(0.5, 1), 10, 5, 10},
	{backoff.Between(0.5, 1), 11, 6, 11},
	{backoff.Between(0.5, 1), largest, 1 << 62, largest},
	{backoff.Between(0.8, 1), 1<<53 + 3, 7205759403792796, 1<<53 + 3},
	{backoff.Between(0.8, 1.2), 10, 8, 12},
	{backoff.Between(0.29, 0.57), 100, 29, 57},
	{backoff.Between(1, 1.5), 3, 3, 5}, // of 3 to 4.5
	{backoff.Between(1, 1.5), largest, largest, largest},
	{backoff.Between(1, 2), 1 << 62, 1 << 62, largest},
	{backoff.Between(2, 3), 5, 10, 15},
	{backoff.Between(2, 3), largest, largest, largest},
	{backoff.Between(1.5, 1.75), 6148914691236517205, largest, largest}, // 2⁶³ − ½ and more
	{backoff.Between(1-0x1p-53, 1), 1 << 62, 1<<62 - 512, 1 << 62},
	{backoff.Between(1.1, 2), 1, 1, 2},
	{backoff.Between(3, 4), largest, largest, largest},
	{backoff.Between(0, 1e300), 0, 0, 0},
	{backoff.Between(0, 1e300), 1, 0, largest},
	{backoff.Between(0, math.SmallestNonzeroFloat64), largest, 0, 0},
	{backoff.Between(0.2, 0.8), 1, 0, 1},
}

func TestJitterRange(t *testing.T) {
	for _, test := range rangeTests {
		p := backoff.Must(backoff.Constant(test.delay, backoff.Options{Jitter: test.jitter, Source: ends(new(int))}))
		if got := p.Delay(1); got != test.low {
			t.Errorf("%v: lowest delay = %d ns, want %d", p, got, test.low)
		}
		if got := p.Delay(2); got != test.high {
			t.Errorf("%v: highest delay = %d ns, want %d", p, got, test.high)
		}
	}
}

// A zero in a list of steps stays one under jitter, and takes its draw.
func TestJitterOfSteps(t *testing.T) {
	draws := 0
	p := backoff.Must(backoff.Stepped([]time.Duration{10, 0, 20}, backoff.Options{Jitter: backoff.Fraction(0.2), Source: ends(&draws)}))
	for i, want := range []time.Duration{8, 0, 16, 24} {
		if got := p.Delay(i + 1); got != want || draws != i+1 {
			t.Errorf("%v: Delay(%d) = %d ns after %d draws, want %d after %d", p, i+1, got, draws, want, i+1)
		}
	}
}

func TestJitterWithoutChoice(t *testing.T) {
	for _, test := range []struct {
		jitter backoff.Jitter
		want   time.Duration
	}{
		{backoff.Jitter{}, 11},
		{backoff.Fraction(0), 11},
		{backoff.Between(1, 1), 11},
		{backoff.Between(0.5, 0.5), 6}, // 5.5, rounded up
		{backoff.Between(3, 3), 33},
	} {
		draws := 0
		p := backoff.Must(backoff.Constant(11, backoff.Options{Jitter: test.jitter, Source: ends(&draws)}))
		if got := p.Delay(1); got != test.want {
			t.Errorf("%v: Delay(1) = %d ns, want %d", p, got, test.want)
		}
		if draws != 0 {
			t.Errorf("%v: %d draws, want none", p, draws)
		}
	}
}

func TestOneDrawForEachJitteredDelay(t *testing.T) {
	for _, test := range []struct {
		delay  time.Duration
		jitter backoff.Jitter
	}{
		{0, backoff.Full()}, // a range of one delay, but not for every delay
		{1, backoff.Fraction(0.2)},
		{1, backoff.Between(0.2, 0.8)},
		{1, backoff.Fraction(1e-300)},
		{1, backoff.Between(1e-20, 2e-20)}, // the same in 18 places
		{time.Second, backoff.Fraction(0.2)},
		{time.Second, backoff.Full()},
	} {
		draws := 0
		p := backoff.Must(backoff.Constant(test.delay, backoff.Options{Free: 2, Jitter: test.jitter, Source: ends(&draws)}))
		for i, attempt := range []int{3, 4, 100, math.MaxInt} {
			p.Delay(attempt)
			p.Delay(2) // free
			p.Delay(0)
			if draws != i+1 {
				t.Errorf("%v: %d draws for %d counted failures", p, draws, i+1)
			}
		}
		p.At(3, time.Time{})
		if draws != 5 {
			t.Errorf("%v: At took %d draws, want 1", p, draws-4)
		}
	}
}

// FuzzJitter holds a jittered delay against low + ⌊u·(high−low+1)/2⁶⁴⌋ in
// math/big.
func FuzzJitter(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, test := range rangeTests {
		f.Add(int64(test.delay), 0.0, 0.1, rng.Uint64(), true)
		f.Add(int64(test.delay), rng.Float64(), 1+rng.Float64(), rng.Uint64(), false)
	}
	for range 1000 {
		f.Add(rng.Int64(), 0.0, rng.Float64(), rng.Uint64(), true)
		f.Add(rng.Int64(), rng.Float64(), 1.0, rng.Uint64(), false)
	}
	f.Fuzz(func(t *testing.T, delay int64, low, high float64, u uint64, symmetric bool) {
		times := func(x float64) int64 {
			return int64(nearest(exactDelay(time.Duration(delay), x, 2)))
		}
		jitter := backoff.Between(low, high)
		if symmetric {
			low, jitter = 0, backoff.Fraction(high)
		}
		p, err := backoff.Constant(time.Duration(delay), backoff.Options{Jitter: jitter, Source: source(func() uint64 { return u })})
		if err != nil || low == high {
			return
		}
		from, to := big.NewInt(times(low)), big.NewInt(times(high))
		if symmetric {
			from.Sub(big.NewInt(delay), to)
			if to.Add(big.NewInt(delay), to); !to.IsInt64() {
				to.SetInt64(math.MaxInt64)
			}
		}
		want := new(big.Int).Sub(to, from)
		want.Add(want, big.NewInt(1))
		want.Mul(want, new(big.Int).SetUint64(u))
		want.Rsh(want, 64)
		want.Add(want, from)
		if got := p.Delay(1); int64(got) != want.Int64() {
			t.Errorf("%v: Delay(1) = %d ns for %#x, want %d", p, got, u, want)
		}
	})
}

// These delays may never change.
func TestGoldenDelays(t *testing.T) {
	tests := []struct {
		jitter backoff.Jitter
		want   []time.Duration
	}{
		{backoff.Fraction(0.2), []time.Duration{
			1107749308, 1569861734, 2505985202, 3775405381, 4524409448, 6200160968,
			11390222935, 16740007940, 21864525721, 33579984956, 61399805030, 58674935282,
		}},
		{backoff.Full(), []time.Duration{
			769373270, 924654336, 1764963004, 2688513453, 1186023620, 312902420,
			5694307339, 7678144849, 3403501803, 7063243640, 38169434449, 26687338205,
		}},
		{backoff.Between(0.5, 1), []time.Duration{
			884686635, 1212327168, 2007481502, 3031756726, 3124261810, 3953326210,
			8542466169, 12382041175, 14516204026, 22753301508, 47917236756, 43343669102,
		}},
	}
	for _, test := range tests {
		p := backoff.Must(backoff.Exponential(time.Second, 1.5, backoff.Options{
			Max: time.Minute, Jitter: test.jitter, Source: rand.NewPCG(1, 2),
		}))
		var got []time.Duration
		for attempt := 1; attempt <= 12; attempt++ {
			got = append(got, p.Delay(attempt))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v: delays = %d, want %d", p, got, test.want)
		}
	}
}

// At the ceiling too, delays spread over their whole range.
func TestJitterAtCeiling(t *testing.T) {
	const draws = 1000
	for _, test := range []struct {
		jitter    backoff.Jitter
		source    rand.Source
		low, high time.Duration
	}{
		{backoff.Fraction(0.2), rand.NewPCG(1, 2), 16 * time.Second, 24 * time.Second},
		{backoff.Fraction(0.2), nil, 16 * time.Second, 24 * time.Second},
		{backoff.Between(0.8, 1), rand.NewPCG(1, 2), 16 * time.Second, 20 * time.Second},
		{backoff.Between(0.8, 1), nil, 16 * time.Second, 20 * time.Second},
		{backoff.Full(), rand.NewPCG(1, 2), 0, 20 * time.Second},
		{backoff.Full(), nil, 0, 20 * time.Second},
	} {
		p := backoff.Must(backoff.Exponential(time.Second, 2, backoff.Options{
			Max: 20 * time.Second, Jitter: test.jitter, Source: test.source,
		}))
		seen := make(map[time.Duration]bool)
		var quarters [4]int
		for range draws {
			d := p.Delay(50)
			if d < test.low || d > test.high {
				t.Fatalf("%v: Delay(50) = %v, want %v to %v", p, d, test.low, test.high)
			}
			seen[d] = true
			quarters[min(4*(d-test.low)/(test.high-test.low), 3)]++
		}
		if len(seen) < draws-5 {
			t.Errorf("%v: %d distinct delays of %d", p, len(seen), draws)
		}
		if slices.Min(quarters[:]) < draws/8 {
			t.Errorf("%v: %d delays in the quarters of the range", p, quarters)
		}
	}
}

// Each whole nanosecond of a range, or each hundredth part of a wide one, comes up
// about as often as the others. Of n delays expected, chance gives or takes √n;
// five times that would be one case in a million. The seed is fixed, and so is the
// outcome.
func TestJitterIsEven(t *testing.T) {
	const draws = 200_000
	for _, test := range []struct {
		delay     time.Duration
		jitter    backoff.Jitter
		low, high time.Duration
	}{
		{10, backoff.Fraction(0.2), 8, 12},
		{3, backoff.Full(), 0, 3},
		{10, backoff.Between(0.5, 1), 5, 10},
		{10, backoff.Between(1, 1.5), 10, 15},
		{99, backoff.Full(), 0, 99},
		{time.Hour, backoff.Fraction(0.2), 48 * time.Minute, 72 * time.Minute},
		{time.Hour, backoff.Full(), 0, time.Hour},
		{time.Hour, backoff.Between(0.5, 1), 30 * time.Minute, time.Hour},
		{largest, backoff.Fraction(0.5), 1 << 62, largest},
		{largest, backoff.Full(), 0, largest},
	} {
		p := backoff.Must(backoff.Constant(test.delay, backoff.Options{Jitter: test.jitter, Source: rand.NewPCG(1, 2)}))
		size := (test.high-test.low)/100 + 1 // of a part
		counts := make([]int, (test.high-test.low)/size+1)
		for range draws {
			d := p.Delay(1)
			if d < test.low || d > test.high {
				t.Fatalf("%v: Delay(1) = %d ns, want %d to %d", p, d, test.low, test.high)
			}
			counts[(d-test.low)/size]++
		}
		expected := float64(draws / len(counts))
		for part, n := range counts {
			if math.Abs(float64(n)-expected) > 5*math.Sqrt(expected) {
				t.Errorf("%v: %d of %d delays in part %d of %d, want about %.0f", p, n, draws, part, len(counts), expected)
			}
		}
	}
}

func TestGoroutinesShareSource(t *testing.T) {
	policy := func() backoff.Policy {
		return backoff.Must(backoff.Constant(time.Second, backoff.Options{Jitter: backoff.Full(), Source: rand.NewPCG(1, 2)}))
	}
	var mu sync.Mutex
	var got, want []time.Duration
	p := policy()
	many(func() {
		d := p.Delay(1)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, d)
	})
	p = policy()
	for range len(got) {
		want = append(want, p.Delay(1))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Error("8 goroutines drew other delays than one would have")
	}
}

// failing returns a function that fails once, and then gives the highest number.
func failing(fail func()) source {
	failed := false
	return func() uint64 {
		if !failed {
			failed = true
			fail()
		}
		return math.MaxUint64
	}
}

func TestSourceFailureLeavesPolicyUsable(t *testing.T) {
	const fault = "no number"
	policy := func(source rand.Source) backoff.Policy {
		return backoff.Must(backoff.Constant(1, backoff.Options{Jitter: backoff.Full(), Source: source}))
	}
	delay := func(p backoff.Policy) (d time.Duration, recovered any) {
		done := make(chan bool)
		go func() {
			defer close(done)
			defer func() { recovered = recover() }()
			d = p.Delay(1)
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second): // only if a lock is still held
			t.Fatalf("%v: Delay(1) hangs", p)
		}
		return d, recovered
	}
	for _, test := range []struct {
		fail func()
		want any // what the first Delay panics with
	}{
		{func() { panic(fault) }, fault},
		{runtime.Goexit, nil},
	} {
		p := policy(failing(test.fail))
		if _, got := delay(p); got != test.want {
			t.Errorf("first Delay(1) panics with %v, want %v", got, test.want)
		}
		if d, got := delay(p); d != 1 || got != nil {
			t.Errorf("second Delay(1) = %v and panics with %v, want 1ns and no panic", d, got)
		}
	}
	var none *rand.PCG
	p := policy(none)
	for range 2 {
		if _, got := delay(p); got == nil {
			t.Error("Delay(1) with a nil *rand.PCG does not panic")
		}
	}
}

var durationTests = []struct {
	text string
	want time.Duration
}{
	{"15 seconds", 15 * time.Second},
	{"1 hour 30 minutes", 90 * time.Minute},
	{"1h 30m", 90 * time.Minute},
	{"1 day 0 hours", 24 * time.Hour},
	{"1h30m", 90 * time.Minute},
	{"1hour30minutes", 90 * time.Minute},
	{"1 hour   30 minutes", 90 * time.Minute},
	{" 5 minutes ", 5 * time.Minute},
	{"\t5 minutes\r\n", 5 * time.Minute},
	{"1.5 days", 36 * time.Hour},
	{"2w", 336 * time.Hour},
	{"2w1d", 360 * time.Hour},
	{"9w", 1512 * time.Hour},
	{"\u00a05 minutes\u2003", 5 * time.Minute},
	{".5d", 12 * time.Hour},
	{"1.d", 24 * time.Hour},
	{"-1.25 weeks", -210 * time.Hour},
	{"+1 day 1 hour", 25 * time.Hour},
	{"-1 day 1 hour", -25 * time.Hour},
	{"0.000000000001 days", 86}, // 86.4 ns, cut as time.ParseDuration does
	{"1.000000000001 days", 24*time.Hour + 86},
	{"106751 days", 106751 * 24 * time.Hour},
	{"-106751 days", -106751 * 24 * time.Hour},
	{"15250w", 15250 * 168 * time.Hour},
	{"15250w 1d 23h 47m 16s 854775807ns", math.MaxInt64},
	{"-15250 weeks 1 day 23 hours 47 minutes 16 seconds 854775808 nanoseconds", math.MinInt64},
	{"106751d23h47m16.854775807s", math.MaxInt64},
	{"-106751d23h47m16.854775808s", math.MinInt64},
	{strings.Repeat("0", 40) + "1 day", 24 * time.Hour},
	{"-9223372036854775808 nanoseconds", math.MinInt64},
	{"9223372036854775807 ns", math.MaxInt64},
	{"-9223372036854775807 ns 1 ns", math.MinInt64},
	{"9223372036854775806 ns 1 ns", math.MaxInt64},
	{"1 nanosecond", 1}, {"2 nanoseconds", 2},
	{"1 microsecond", 1e3}, {"2 microseconds", 2e3},
	{"3 us", 3e3}, {"3 µs", 3e3}, {"3 μs", 3e3},
	{"1 millisecond", 1e6}, {"2 milliseconds", 2e6}, {"3 ms", 3e6},
	{"1 second", 1e9}, {"3 s", 3e9},
	{"1 sec", 1e9}, {"2 secs", 2e9},
	{"1 minute", 60e9}, {"2 minutes", 120e9}, {"3 m", 180e9},
	{"1 min", 60e9}, {"2 mins", 120e9},
	{"1 hour", 3600e9}, {"2 hours", 7200e9}, {"3 h", 10800e9},
	{"1 hr", 3600e9}, {"2 hrs", 7200e9}, {"1hr 30min 5sec", 5405e9},
	{"1 day", 86400e9}, {"2 days", 172800e9}, {"3 d", 259200e9},
	{"1 week", 604800e9}, {"2 weeks", 1209600e9}, {"3 w", 1814400e9},
	{"1 weeks 1 days", 8 * 86400e9},

	{"-9223372036854775808ns", math.MinInt64}, // the rest as time.ParseDuration
	{".5s", 500 * ms},
	{"1.s", time.Second},
	{"0.s", 0},
	{"+5s", 5 * time.Second},
	{"1s1s", 2 * time.Second},
	{"0", 0}, {"+0", 0}, {"-0", 0}, {" 0 ", 0},
}

func TestParseDuration(t *testing.T) {
	for _, test := range durationTests {
		if got, err := backoff.ParseDuration(test.text); got != test.want || err != nil {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", test.text, got, err, test.want)
		}
	}
}

// durationErrorTests holds what is wrong with a text.
var durationErrorTests = []struct{ text, fault string }{
	{"3 months", `unknown unit "months" ` + wantUnits},
	{"5 meters", `unknown unit "meters" ` + wantUnits},
	{"5 Min", `unknown unit "Min" ` + wantUnits},
	{"5M", `unknown unit "M" ` + wantUnits},
	{"5 Seconds", `unknown unit "Seconds" ` + wantUnits},
	{"1 Day", `unknown unit "Day" ` + wantUnits},
	{"1 Hour", `unknown unit "Hour" ` + wantUnits},
	{"1W", `unknown unit "W" ` + wantUnits},
	{"1D", `unknown unit "D" ` + wantUnits},
	{"1H", `unknown unit "H" ` + wantUnits},
	{"1S", `unknown unit "S" ` + wantUnits},
	{"2 nsec", `unknown unit "nsec" ` + wantUnits},
	{"2 msec", `unknown unit "msec" ` + wantUnits},
	{"2 wk", `unknown unit "wk" ` + wantUnits},
	{"2 mo", `unknown unit "mo" ` + wantUnits},
	{" 5 mn ", `unknown unit "mn" ` + wantUnits},
	{"1y", `unknown unit "y" ` + wantUnits},
	{"1 hour, 30 minutes", `unknown unit "hour," ` + wantUnits},
	{"1h\t30m", `unknown unit "h\t" ` + wantUnits},
	{"1h-30m", `unknown unit "h-" ` + wantUnits},
	{"1e3s", `unknown unit "e" ` + wantUnits},
	{"600", "missing unit"},
	{" 600 ", "missing unit"},
	{"00", "missing unit"},
	{"1 hour 30", "missing unit"},
	{"1 hour 0", "missing unit"},
	{"1  hour", "missing unit"},
	{"1.2.3s", "missing unit"},
	{"1 2s", "missing unit"},
	{"", "missing number"},
	{" ", "missing number"},
	{"-", "missing number"},
	{"--1s", "missing number"},
	{"- 1s", "missing number"},
	{".", "missing number"},
	{".s", "missing number"},
	{"soon", "missing number"},
	{"1h \t30m", "missing number"},
	{"1 hour and 30 minutes", "missing number"},
	{"\xff", "missing number"}, // not UTF-8
	{"1\xff", `unknown unit "\xff" ` + wantUnits},
	{"1 h\xc2", `unknown unit "h\xc2" ` + wantUnits},
	{"٥s", "missing number"},
	{"106752 days", "overflow"},
	{"15251w", "overflow"},
	{"5124096 hours", "overflow"},
	{"5124096h", "overflow"},
	{"1000000000000 days", "overflow"},
	{"99999999999999999999 days", "overflow"},
	{"106751 days 1 day", "overflow"},
	{"106751d23h47m16.854775808s", "overflow"},
	{"-106751d23h47m16.854775809s", "overflow"},
	{"-15250w 1d 23h 47m 16s 854775809ns", "overflow"},
	{"-106752d", "overflow"},
	{"-9223372036854775809 ns", "overflow"},
	{"9223372036854775808 ns", "overflow"},
	{"9223372036854775807 ns 1 ns", "overflow"},
	{"-9223372036854775808 ns 1 ns", "overflow"},
	{"-9223372036854775808ns9223372036854775808ns5s", "overflow"}, // time.ParseDuration gives -5s
}

func TestParseDurationErrors(t *testing.T) {
	for _, test := range durationErrorTests {
		got, err := backoff.ParseDuration(test.text)
		want := fmt.Sprintf("backoff: %s in duration %q", test.fault, test.text)
		if got != 0 || err == nil || err.Error() != want {
			t.Errorf("ParseDuration(%q) = %v, %v, want 0s, %s", test.text, got, err, want)
		}
	}
}

// wraps tells whether the terms of text, which time.ParseDuration reads, add up to
// more than a Duration holds.
func wraps(text string) bool {
	terms := regexp.MustCompile(`[0-9.]+[^0-9.]+`)
	sum := new(big.Int)
	for _, term := range terms.FindAllString(text, -1) {
		d, _ := time.ParseDuration("-" + term)
		sum.Add(sum, big.NewInt(int64(d)))
	}
	return !sum.IsInt64()
}

func FuzzParseDuration(f *testing.F) {
	for _, test := range durationTests {
		f.Add(test.text)
	}
	for _, test := range durationErrorTests {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := backoff.ParseDuration(text)
		if want, stdErr := time.ParseDuration(text); stdErr == nil && !wraps(text) && (got != want || err != nil) {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", text, got, err, want)
		}
		if err != nil && !strings.HasSuffix(err.Error(), strconv.Quote(text)) {
			t.Errorf("ParseDuration(%q) does not quote it: %v", text, err)
		}
		d := backoff.Duration{Duration: 1}
		if textErr := d.UnmarshalText([]byte(text)); (textErr == nil) != (err == nil) {
			t.Errorf("UnmarshalText(%q) = %v, ParseDuration: %v", text, textErr, err)
		}
		if err != nil && d.Duration != 1 || err == nil && d.Duration != got {
			t.Errorf("UnmarshalText(%q) leaves %v", text, d)
		}
		written, err := d.MarshalText()
		if err != nil || string(written) != d.Duration.String() {
			t.Errorf("MarshalText(%v) = %s, %v", d.Duration, written, err)
		}
		var again backoff.Duration
		if err := again.UnmarshalText(written); err != nil || again != d {
			t.Errorf("UnmarshalText(%s) = %v, %v", written, again, err)
		}
	})
}

func TestDurationInJSON(t *testing.T) {
	var config struct{ Base, Max backoff.Duration }
	if err := json.Unmarshal([]byte(`{"Base": "15 seconds", "Max": "2w"}`), &config); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(config)
	if want := `{"Base":"15s","Max":"336h0m0s"}`; string(got) != want || err != nil {
		t.Errorf("Marshal = %s, %v, want %s", got, err, want)
	}
	for _, text := range []string{`{"Base": "5 months"}`, `{"Base": 15}`, `{"Base": 1.5}`} {
		if err := json.Unmarshal([]byte(text), &config); err == nil {
			t.Errorf("Unmarshal(%s) = nil, want an error", text)
		}
		if config.Base.Duration != 15*time.Second {
			t.Errorf("Unmarshal(%s) leaves %v, want 15s", text, config.Base)
		}
	}
}

func TestDurationAsFlag(t *testing.T) {
	var wait backoff.Duration
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(&wait, "wait", backoff.Duration{Duration: time.Minute}, "")
	if got := flags.Lookup("wait").DefValue; got != "1m0s" {
		t.Errorf("default = %s, want 1m0s", got)
	}
	if err := flags.Parse([]string{"-wait", "1.5 days"}); err != nil || wait.Duration != 36*time.Hour {
		t.Errorf("Parse = %v, wait = %v, want 36h", err, wait)
	}
	if err := flags.Parse([]string{"-wait", "15"}); err == nil || wait.Duration != 36*time.Hour {
		t.Errorf("Parse = %v, wait = %v, want an error and 36h", err, wait)
	}
}

// retryAfterTests are as of half a second past 07:27:50 on 21 October 2026, so that
// dates leave a fraction.
var retryAfterTests = []struct {
	value string
	want  time.Duration
	ok    bool
}{
	{"0", 0, true},
	{"120", 2 * time.Minute, true},
	{"007", 7 * time.Second, true},
	{"0.65", 650 * ms, true},
	{"1.0", time.Second, true},
	{"0.00000000099", 0, true},
	{"9223372036", 9223372036 * time.Second, true},
	{"9223372036.854775807", largest, true},
	{"9223372036.9", largest, true},
	{"9223372037", largest, true},
	{"99999999999999999999", largest, true},
	{" 10", 10 * time.Second, true},
	{"\t 10 \t", 10 * time.Second, true},

	{"Wed, 21 Oct 2026 07:28:00 GMT", 9500 * ms, true},
	{"Wednesday, 21-Oct-26 07:28:00 GMT", 9500 * ms, true},
	{"Wed Oct 21 07:28:00 2026", 9500 * ms, true},
	{"\tWed, 21 Oct 2026 07:28:00 GMT ", 9500 * ms, true},
	{"Sun Nov  1 07:27:50 2026", 11*24*time.Hour - 500*ms, true},
	{"Sun Nov 01 07:27:50 2026", 11*24*time.Hour - 500*ms, true},
	{"Mon, 21 Oct 2026 07:28:00 GMT", 9500 * ms, true}, // the date counts, not its weekday
	{"Tue, 21 Oct 2026 07:28:00 GMT", 9500 * ms, true},
	{"Thu, 21 Oct 2026 07:28:00 GMT", 9500 * ms, true},
	{"Fri, 21 Oct 2026 07:28:00 GMT", 9500 * ms, true},
	{"Sat, 21 Oct 2026 07:28:00 GMT", 9500 * ms, true},
	{"Sun, 21 Oct 2026 07:28:00 GMT", 9500 * ms, true},
	{"Monday, 21-Oct-26 07:28:00 GMT", 9500 * ms, true},
	{"Tuesday, 21-Oct-26 07:28:00 GMT", 9500 * ms, true},
	{"Thursday, 21-Oct-26 07:28:00 GMT", 9500 * ms, true},
	{"Friday, 21-Oct-26 07:28:00 GMT", 9500 * ms, true},
	{"Saturday, 21-Oct-26 07:28:00 GMT", 9500 * ms, true},
	{"Sunday, 21-Oct-26 07:28:00 GMT", 9500 * ms, true},
	{"Sat Oct 21 07:28:00 2026", 9500 * ms, true},
	{"Wed, 21 Oct 2026 07:27:50 GMT", 0, true}, // gone by
	{"Sun, 06 Nov 1994 08:49:37 GMT", 0, true},
	{"Sunday, 06-Nov-94 08:49:37 GMT", 0, true},
	{"Sun Nov  6 08:49:37 1994", 0, true},
	{"Sat, 01 Jan 0000 00:00:00 GMT", 0, true},
	{"Fri, 31 Dec 9999 23:59:59 GMT", largest, true},
	{"Wed, 21 Oct 2026 23:59:60 GMT", 16*time.Hour + 32*time.Minute + 9500*ms, true}, // a leap second
	// A two-digit year lies up to 50 years ahead, and else in the past.
	{"Wednesday, 21-Oct-76 07:27:50 GMT", 18263*24*time.Hour - 500*ms, true},
	{"Thursday, 21-Oct-76 07:27:51 GMT", 0, true},
	{"Monday, 21-Oct-75 07:27:51 GMT", 17897*24*time.Hour + 500*ms, true},

	{"", 0, false},
	{" ", 0, false},
	{"-0", 0, false},
	{"-1", 0, false},
	{"+5", 0, false},
	{"1e3", 0, false},
	{"0x10", 0, false},
	{"1_000", 0, false},
	{"10, 20", 0, false},
	{"10s", 0, false},
	{"1 0", 0, false},
	{"10\n", 0, false},
	{"\u00a010", 0, false},
	{"1.", 0, false},
	{".5", 0, false},
	{".", 0, false},
	{"1.2.3", 0, false},
	{"٥", 0, false},
	{"NaN", 0, false},
	{"Inf", 0, false},
	{"soon", 0, false},
	{"Wed, 21 Oct 2026 07:28:00 EST", 0, false},
	{"Wed, 21 Oct 2026 07:28:00 UTC", 0, false},
	{"Wednesday, 21-Oct-26 07:28:00 UTC", 0, false},
	{"Wed, 21 Oct 2026 07:28:00 +0000", 0, false},
	{"Wednesday, 21-Oct-26 07:28:00 EST", 0, false},
	{"Wed, 21 Oct 2026 07:28:00 gmt", 0, false},
	{"wed, 21 Oct 2026 07:28:00 GMT", 0, false},
	{"Wed, 21 oct 2026 07:28:00 GMT", 0, false},
	{"Wednesday, 21 Oct 2026 07:28:00 GMT", 0, false},
	{"Wed, 21-Oct-26 07:28:00 GMT", 0, false},
	{"Wen, 21 Oct 2026 07:28:00 GMT", 0, false},
	{"Wed, 21 Oct 2026 7:28:00 GMT", 0, false},
	{"Wed, 1 Oct 2026 07:28:00 GMT", 0, false},
	{"Wed, 21 Oct 2026 07:28:00.5 GMT", 0, false},
	{"Wed, 21 Oct 2026 07:28 GMT", 0, false},
	{"Wed, 21 Oct 2026 24:00:00 GMT", 0, false},
	{"Wed, 21 Oct 2026 07:28:60 GMT", 0, false},
	{"Wed, 21 Oct 2026 07:59:60 GMT", 0, false},
	{"Wed, 31 Nov 2026 07:28:00 GMT", 0, false},
	{"Wed, 21 Oct 2026 07:28:00 GMT, 10", 0, false},
	{"Wed, 21 Oct 2026 07:28:00 GMT\r", 0, false},
	{"Wed Oct 21 07:28:00 2026 GMT", 0, false},
	{"Wen Oct 21 07:28:00 2026", 0, false},
	{"Wednesday Oct 21 07:28:00 2026", 0, false},
	{"\xff", 0, false}, // not UTF-8
	{"Wed, 21 Oct 2026 07:28:00 GMT\xff", 0, false},
	{"2026-10-21T07:28:00Z", 0, false},
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 10, 21, 7, 27, 50, 5e8, time.UTC)
	elsewhere := now.In(time.FixedZone("UTC-12", -12*3600))
	for _, test := range retryAfterTests {
		for _, now := range []time.Time{now, elsewhere} {
			got, ok := backoff.RetryAfter(test.value, now)
			if got != test.want || ok != test.ok {
				t.Errorf("RetryAfter(%q, %v) = %v, %v, want %v, %v", test.value, now, got, ok, test.want, test.ok)
			}
		}
	}
}

// A two-digit year is in the latest century that puts it no more than 50 years
// ahead.
func TestRetryAfterInAnotherCentury(t *testing.T) {
	utc := func(year, month, day, hour, min, sec int) time.Time {
		return time.Date(year, time.Month(month), day, hour, min, sec, 0, time.UTC)
	}
	for _, test := range []struct {
		value     string
		now, date time.Time
	}{
		{"Friday, 01-Jan-00 00:00:00 GMT", utc(2099, 12, 31, 23, 59, 50), utc(2100, 1, 1, 0, 0, 0)},
		{"Thursday, 31-Dec-99 23:59:59 GMT", utc(2099, 12, 31, 23, 59, 50), utc(2099, 12, 31, 23, 59, 59)},
		{"Friday, 31-Dec-49 23:59:50 GMT", utc(2099, 12, 31, 23, 59, 50), utc(2149, 12, 31, 23, 59, 50)},
		{"Friday, 31-Dec-49 23:59:51 GMT", utc(2099, 12, 31, 23, 59, 50), utc(2049, 12, 31, 23, 59, 51)},
		{"Friday, 01-Jan-77 00:10:00 GMT", utc(2027, 1, 1, 0, 30, 0), utc(2077, 1, 1, 0, 10, 0)}, // whatever year it is in now's zone
		{"Tuesday, 29-Feb-00 00:00:00 GMT", utc(2060, 1, 1, 0, 0, 0), utc(2000, 2, 29, 0, 0, 0)}, // not in 2100
		{"Thursday, 31-Dec-76 23:59:60 GMT", utc(2027, 1, 1, 0, 0, 0), utc(2077, 1, 1, 0, 0, 0)}, // a leap second is the instant after
		{"Thursday, 31-Dec-76 23:59:60 GMT", utc(2026, 12, 31, 23, 59, 59), utc(1977, 1, 1, 0, 0, 0)},
		{"Sunday, 06-Nov-94 08:49:37 GMT", time.Time{}, utc(-6, 11, 6, 8, 49, 37)},
		{"Tuesday, 29-Feb-00 00:00:00 GMT", utc(1890, 1, 1, 0, 0, 0), utc(1600, 2, 29, 0, 0, 0)}, // nor in 1900 or 1800
		{"Tuesday, 29-Feb-00 00:00:00 GMT", utc(1999, 3, 1, 0, 0, 0), utc(2000, 2, 29, 0, 0, 0)},
		{"Monday, 28-Feb-00 23:59:60 GMT", utc(2099, 3, 1, 0, 0, 0), utc(2100, 3, 1, 0, 0, 0)},
	} {
		want := max(test.date.Sub(test.now), 0)
		for _, zone := range []int{-12, 0, 12} {
			now := test.now.In(time.FixedZone("", zone*3600))
			if got, ok := backoff.RetryAfter(test.value, now); got != want || !ok {
				t.Errorf("RetryAfter(%q, %v) = %v, %v, want %v, true", test.value, now, got, ok, want)
			}
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, test := range retryAfterTests {
		f.Add(test.value, int64(1792567670))
	}
	seconds := regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	const month, clock = `(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)`, `[0-9]{2}:[0-9]{2}:[0-9]{2}`
	date := regexp.MustCompile(`^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} ` + month + ` [0-9]{4} ` + clock + ` GMT$` +
		`|^(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, [0-9]{2}-` + month + `-[0-9]{2} ` + clock + ` GMT$` +
		`|^(Mon|Tue|Wed|Thu|Fri|Sat|Sun) ` + month + ` ([0-9]{2}| [0-9]) ` + clock + ` [0-9]{4}$`)
	f.Fuzz(func(t *testing.T, value string, unix int64) {
		now := time.Unix(unix, 0)
		got, ok := backoff.RetryAfter(value, now)
		value = strings.Trim(value, " \t")
		if at, err := http.ParseTime(value); err == nil && date.MatchString(value) {
			want := max(at.Sub(now), 0)
			if strings.Contains(value, "-") { // two digits, whose century is another matter
				want = got
			}
			if got != want || !ok {
				t.Errorf("RetryAfter(%q, %d) = %v, %v, want %v, true", value, unix, got, ok, want)
			}
		}
		if got < 0 || !ok && got != 0 {
			t.Errorf("RetryAfter(%q, %d) = %v, %v", value, unix, got, ok)
		}
		if ok && !seconds.MatchString(value) && !date.MatchString(value) {
			t.Errorf("RetryAfter(%q, %d) = %v, true for no such form", value, unix, got)
		}
		if !ok && seconds.MatchString(value) {
			t.Errorf("RetryAfter(%q, %d) = false for seconds", value, unix)
		}
	})
}

// contest is the model of the AWS Architecture Blog, "Exponential Backoff And
// Jitter" (2015), on a clock of its own. Clients compete to change the same row.
// Each asks for the row's version, gets it, sends its change and gets an answer.
// The change counts only if the version is still the same; otherwise the client
// waits as its policy says and asks again. A message takes 10 ms ± 2 ms, normally
// distributed. contest returns the times of all writes, counted or not, and of the
// last answer.
func contest(clients int, jitter backoff.Jitter, seed uint64) (writes []time.Duration, end time.Duration) {
	policy := backoff.Must(backoff.Exponential(10*ms, 2, backoff.Options{
		Max: 2 * time.Second, Jitter: jitter, Source: rand.NewPCG(seed, 1),
	}))
	net := rand.New(rand.NewPCG(seed, 2))
	message := func() time.Duration {
		return time.Duration((10 + float64(2*net.NormFloat64())) * float64(ms))
	}
	const (
		asked = iota // messages, in the order in which they arrive
		got
		sent
		answered
	)
	type client struct {
		at       time.Duration // when its next message arrives
		message  int           // which one that is
		version  int           // what it got
		won      bool
		failures int
	}
	all := make([]client, clients)
	for i := range all {
		all[i].at = message()
	}
	version := 0
	for left := clients; left > 0; {
		c := &all[0] // the client whose message arrives next
		for i := range all {
			if all[i].at < c.at {
				c = &all[i]
			}
		}
		switch c.message {
		case asked:
			c.version = version
		case sent:
			writes = append(writes, c.at)
			if c.won = c.version == version; c.won {
				version++
			}
		case answered:
			if c.won {
				left, end, c.at = left-1, c.at, largest
				continue
			}
			c.failures++
			c.at += policy.Delay(c.failures)
		}
		c.at += message()
		c.message = (c.message + 1) % 4
	}
	return writes, end
}

// contests returns the means of a hundred contests.
func contests(clients int, jitter backoff.Jitter) (writes, seconds float64) {
	const runs = 100
	for seed := range uint64(runs) {
		times, end := contest(clients, jitter, seed)
		writes += float64(len(times)) / runs
		seconds += end.Seconds() / runs
	}
	return writes, seconds
}

// picture draws the writes of the first ten seconds, a character for each fifth of
// one: none, or a block that is full at a hundred writes.
func picture(writes []time.Duration) string {
	var counts [50]int
	for _, at := range writes {
		if i := int(at / (200 * ms)); i < len(counts) {
			counts[i]++
		}
	}
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, n := range counts {
		b.WriteRune(blocks[min((8*n+99)/100, 8)])
	}
	return strings.TrimRight(b.String(), " ")
}

// README.md shows these figures and these pictures. The published figures are of
// the simulator that belongs to the article.
func TestContest(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, code string
		jitter     backoff.Jitter
		published  []float64 // writes and seconds
	}{
		{"none", "none", backoff.Jitter{}, []float64{1864, 63.9}},
		{"Fraction", "`Fraction(0.2)`", backoff.Fraction(0.2), nil},
		{"Between", "`Between(0.5, 1)`", backoff.Between(0.5, 1), []float64{811, 6.6}},
		{"Full", "`Full()`", backoff.Full(), []float64{795, 4.8}},
	} {
		of20, seconds20 := contests(20, test.jitter)
		of100, seconds100 := contests(100, test.jitter)
		if p := test.published; p != nil && (math.Abs(of100/p[0]-1) > 0.10 || math.Abs(seconds100/p[1]-1) > 0.15) {
			t.Errorf("%s: %.0f writes in %.1f s, published: %.0f in %.1f s", test.name, of100, seconds100, p[0], p[1])
		}
		writes, _ := contest(100, test.jitter, 1)
		for _, line := range []string{
			fmt.Sprintf("| %s | %.0f | %.1f s | %.0f | %.1f s |", test.code, of20, seconds20, of100, seconds100),
			fmt.Sprintf("%-8s  %s", test.name, picture(writes)),
		} {
			fmt.Fprintln(t.Output(), line)
			if !strings.Contains(string(readme), "\n"+line+"\n") {
				t.Errorf("README.md lacks the line %s", line)
			}
		}
	}
}

// excerpt returns what stands between from and to in a file.
func excerpt(t *testing.T, name, from, to string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), from)
	part, _, found := strings.Cut(part, to)
	if !found {
		t.Fatalf("%s: nothing between %q and %q", name, from, to)
	}
	return part
}

// README.md shows the first example as a program.
func TestReadmeProgram(t *testing.T) {
	got := excerpt(t, "README.md", "func main() {\n", "}\n```")
	if want := excerpt(t, "example_test.go", "func Example() {\n", "\t// Output:"); got != want {
		t.Errorf("README.md has\n%s\nExample has\n%s", got, want)
	}
}

// deliver is the loop of the package comment.
func deliver(ctx context.Context, policy backoff.Policy, send func(context.Context) error) error {
	var failed error // every attempt's error: the last may only say that ctx ended
	for attempt := 1; ; attempt++ {
		err := send(ctx)
		if err == nil {
			return nil
		}
		failed = errors.Join(failed, err)
		if attempt == 5 {
			return errors.Join(failed, ctx.Err())
		}
		if stop := backoff.Sleep(ctx, policy.Delay(attempt)); stop != nil {
			return errors.Join(failed, stop)
		}
	}
}

func TestPackageComment(t *testing.T) {
	got := excerpt(t, "backoff.go", "caller's loop:\n//\n", "package backoff")
	want := excerpt(t, "backoff_test.go", "send func(context.Context) error) error {\n", "}\n\nfunc")
	if got := strings.ReplaceAll("\n"+got, "\n//", "\n")[1:]; got != want {
		t.Errorf("the package comment has\n%s\ndeliver has\n%s", got, want)
	}
}

func TestLoopEndsWithBothErrors(t *testing.T) {
	down := errors.New("503 Service Unavailable")
	shutdown := errors.New("shutdown")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	requests := 0
	send := func(context.Context) error {
		requests++
		resp, err := http.Get(server.URL)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusServiceUnavailable {
			return down
		}
		return nil
	}
	policy := backoff.Must(backoff.Constant(time.Hour, backoff.Options{Free: 1}))

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := deliver(ctx, policy, send)
	if !errors.Is(err, down) || !errors.Is(err, context.DeadlineExceeded) || requests != 2 {
		t.Errorf("past the deadline: %v after %d requests, want %v and %v after 2", err, requests, down, context.DeadlineExceeded)
	}

	inFlight, interrupt := context.WithCancelCause(t.Context())
	err = deliver(inFlight, policy, func(ctx context.Context) error {
		if err := send(ctx); requests == 3 {
			return err
		}
		interrupt(shutdown)
		return ctx.Err()
	})
	if !errors.Is(err, down) || !errors.Is(err, context.Canceled) || !errors.Is(err, shutdown) {
		t.Errorf("when cancelled during a send: %v, want %v, %v and %v", err, down, context.Canceled, shutdown)
	}

	last, interrupt := context.WithCancelCause(t.Context())
	attempt := 0
	err = deliver(last, backoff.Must(backoff.Constant(0, backoff.Options{})), func(ctx context.Context) error {
		if attempt++; attempt < 5 {
			return down
		}
		interrupt(shutdown)
		return context.Cause(ctx)
	})
	if !errors.Is(err, down) || !errors.Is(err, context.Canceled) || !errors.Is(err, shutdown) {
		t.Errorf("when cancelled during the last send: %v, want %v, %v and %v", err, down, context.Canceled, shutdown)
	}

	stopped, stop := context.WithCancelCause(t.Context())
	time.AfterFunc(ms, func() { stop(shutdown) })
	err = deliver(stopped, policy, send)
	if !errors.Is(err, down) || !errors.Is(err, context.Canceled) || !errors.Is(err, shutdown) {
		t.Errorf("when cancelled: %v, want %v, %v and %v", err, down, context.Canceled, shutdown)
	}
}

// The policies that the docs show are read, and the one in the doc of Policy is how
// it prints.
func TestTextsShown(t *testing.T) {
	for name, shown := range map[string]string{
		"steps.go":   `(?m)^//\t(\w+ .+)$`,
		"backoff.go": `(?m)^//\t(\w+ .+, max .+)$`,
		"README.md":  "[`\"]((?:exponential|linear|constant|stepped) [^`\"]+)[`\"]",
	} {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts := regexp.MustCompile(shown).FindAllSubmatch(file, -1)
		if len(texts) == 0 {
			t.Errorf("%s shows no policy", name)
		}
		for _, text := range texts {
			p, err := backoff.Parse(string(text[1]))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if name == "backoff.go" && fmt.Sprint(p) != string(text[1]) {
				t.Errorf("%s: %q prints as %v", name, text[1], p)
			}
		}
	}
}

// Each loop that people may copy ends on the error of Sleep and keeps those of its
// attempts. None takes the larger of a delay and what a server asks, which would undo
// the jitter.
func TestLoopsShown(t *testing.T) {
	larger := regexp.MustCompile(`max\([^)]*Delay\(`)
	sleep := regexp.MustCompile(`backoff\.Sleep\(.*Delay\(`)
	loop := regexp.MustCompile(`if stop := backoff\.Sleep\(ctx, .*Delay\(\w+\)\); stop != nil \{\n(//)?\s*return (nil, )?errors\.Join\((failed|err), stop\)`)
	for _, name := range []string{"backoff.go", "README.md", "example_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sleeps, loops := len(sleep.FindAll(text, -1)), len(loop.FindAll(text, -1))
		if sleeps == 0 || sleeps != loops {
			t.Errorf("%s: %d waits, of which %d return both errors", name, sleeps, loops)
		}
		lists, kept := bytes.Count(text, []byte("var failed error")), bytes.Count(text, []byte("failed = errors.Join(failed, "))
		if lists == 0 || lists != kept {
			t.Errorf("%s: %d loops list their errors, and %d add to them", name, lists, kept)
		}
		if found := larger.Find(text); found != nil {
			t.Errorf("%s: %s undoes the jitter", name, found)
		}
	}
}

// sink keeps the compiler from leaving a benchmark's work out.
var sink time.Duration

func BenchmarkDelay(b *testing.B) {
	steps := []time.Duration{100 * ms, time.Second}
	count := func(n int) time.Duration { return time.Duration(n) }
	for _, kind := range []struct {
		name string
		opts backoff.Options
	}{
		{"exact", backoff.Options{}},
		{"jittered", backoff.Options{Jitter: backoff.Fraction(0.2)}},
		{"seeded", backoff.Options{Jitter: backoff.Fraction(0.2), Source: rand.NewPCG(1, 2)}},
	} {
		for _, schedule := range []struct {
			name   string
			policy backoff.Policy
		}{
			{"exponential", backoff.Must(backoff.Exponential(100*ms, 1.0001, kind.opts))},
			{"linear", backoff.Must(backoff.Linear(100*ms, 1, kind.opts))},
			{"constant", backoff.Must(backoff.Constant(100*ms, kind.opts))},
			{"stepped", backoff.Must(backoff.Stepped(steps, kind.opts))},
			{"custom", backoff.Must(backoff.Custom(count, kind.opts))},
		} {
			for _, attempt := range []int{1, 1e3, 1e6} {
				b.Run(fmt.Sprintf("%s/%s/attempt=%d", schedule.name, kind.name, attempt), func(b *testing.B) {
					for b.Loop() {
						sink += schedule.policy.Delay(attempt)
					}
				})
			}
		}
	}
}

// lookup is the least that an exact schedule could be.
type lookup []time.Duration

func (l lookup) Delay(attempt int) time.Duration { return l[min(max(attempt, 1), len(l))-1] }

// A scale is the least that jitter could be, once there is a random number.
type scale struct{ low, width uint64 }

func (s scale) delay(u uint64) time.Duration {
	offset, _ := bits.Mul64(u, s.width)
	return time.Duration(s.low + offset)
}

// elapsed tells how long it takes so many goroutines to make 10,000 delays each.
func elapsed(goroutines int, ten func() time.Duration) float64 {
	start := time.Now()
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			var sum time.Duration
			for range 1000 {
				sum += ten()
			}
			runtime.KeepAlive(sum)
		})
	}
	wg.Wait()
	return float64(time.Since(start))
}

// BenchmarkFloor sets ten delays, 100 ms doubling to 10 s, exact or ±20 %,
// beside the least work that could make them. It measures them in turn, and
// reports the median of the ratios.
func BenchmarkFloor(b *testing.B) {
	policy := func(jitter backoff.Jitter, source rand.Source) backoff.Policy {
		return backoff.Must(backoff.Exponential(100*ms, 2, backoff.Options{
			Max: 10 * time.Second, Jitter: jitter, Source: source,
		}))
	}
	call := func(p interface {
		Delay(attempt int) time.Duration
	}) func() time.Duration {
		return func() (sum time.Duration) {
			for attempt := 1; attempt <= 10; attempt++ {
				sum += p.Delay(attempt)
			}
			return sum
		}
	}
	scale := scale{uint64(80 * ms), uint64(40*ms) + 1}
	drawn := func() (sum time.Duration) {
		for range 10 {
			sum += scale.delay(rand.Uint64())
		}
		return sum
	}
	var mu sync.Mutex
	source := rand.NewPCG(1, 2)
	locked := func() (sum time.Duration) {
		for range 10 {
			mu.Lock()
			u := source.Uint64()
			mu.Unlock()
			sum += scale.delay(u)
		}
		return sum
	}

	plain := policy(backoff.Jitter{}, nil)
	jittered := policy(backoff.Fraction(0.2), nil)
	seeded := policy(backoff.Fraction(0.2), rand.NewPCG(1, 2))
	var table lookup
	for attempt := 1; attempt <= 8; attempt++ {
		table = append(table, plain.Delay(attempt))
	}
	for _, bench := range []struct {
		name       string
		goroutines int
		ten, floor func() time.Duration
	}{
		{"exact", 1, call(plain), call(table)},
		{"jittered", 1, call(jittered), drawn},
		{"parallel", runtime.GOMAXPROCS(0), call(jittered), drawn},
		{"seeded", 1, call(seeded), locked},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var ratios []float64
			for b.Loop() {
				ratios = append(ratios, elapsed(bench.goroutines, bench.ten)/elapsed(bench.goroutines, bench.floor))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
		})
	}
}

func BenchmarkNew(b *testing.B) {
	opts := backoff.Options{Max: 10 * time.Second, Jitter: backoff.Fraction(0.2)}
	steps := []time.Duration{100 * ms, time.Second, 10 * time.Second}
	for _, bench := range []struct {
		name string
		make func() (backoff.Policy, error)
	}{
		{"exponential", func() (backoff.Policy, error) { return backoff.Exponential(100*ms, 2, opts) }},
		{"exponential-slow", func() (backoff.Policy, error) { return backoff.Exponential(100*ms, 1.0001, opts) }},
		{"linear", func() (backoff.Policy, error) { return backoff.Linear(100*ms, 100*ms, opts) }},
		{"constant", func() (backoff.Policy, error) { return backoff.Constant(100*ms, opts) }},
		{"stepped", func() (backoff.Policy, error) { return backoff.Stepped(steps, opts) }},
		{"custom", func() (backoff.Policy, error) { return backoff.Custom(fibonacci, opts) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bench.make(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

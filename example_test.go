package backoff_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"example.com/backoff"
)

func Example() {
	policy := backoff.Must(backoff.Exponential(time.Millisecond, 2, backoff.Options{
		Max:    30 * time.Second,
		Jitter: backoff.Full(),
	}))

	calls := 0
	send := func() error { // stands for your own, and fails twice
		if calls++; calls < 3 {
			return errors.New("service unavailable")
		}
		return nil
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := send()
		if err == nil {
			fmt.Println("sent at attempt", attempt)
			return
		}
		fmt.Printf("attempt %d: %v\n", attempt, err)
		if err := backoff.Sleep(ctx, policy.Delay(attempt)); err != nil {
			fmt.Println("no more attempts:", err)
			return
		}
	}
	// Output:
	// attempt 1: service unavailable
	// attempt 2: service unavailable
	// sent at attempt 3
}

func ExampleExponential() {
	policy := backoff.Must(backoff.Exponential(100*time.Millisecond, 2, backoff.Options{
		Max: 5 * time.Second,
	}))
	fmt.Println(policy)
	for attempt := 1; attempt <= 8; attempt++ {
		fmt.Print(policy.Delay(attempt), " ")
	}
	// Output:
	// exponential 100ms ×2, max 5s
	// 100ms 200ms 400ms 800ms 1.6s 3.2s 5s 5s
}

func ExampleLinear() {
	policy := backoff.Must(backoff.Linear(time.Second, 500*time.Millisecond, backoff.Options{}))
	fmt.Println(policy)
	for attempt := 1; attempt <= 5; attempt++ {
		fmt.Print(policy.Delay(attempt), " ")
	}
	// Output:
	// linear 1s +500ms
	// 1s 1.5s 2s 2.5s 3s
}

func ExampleConstant() {
	policy := backoff.Must(backoff.Constant(time.Minute, backoff.Options{Free: 1}))
	fmt.Println(policy)
	for attempt := 1; attempt <= 3; attempt++ {
		fmt.Print(policy.Delay(attempt), " ")
	}
	// Output:
	// constant 1m0s, free 1
	// 0s 1m0s 1m0s
}

func ExampleStepped() {
	policy := backoff.Must(backoff.Stepped([]time.Duration{
		time.Second, 10 * time.Second, time.Minute,
	}, backoff.Options{}))
	fmt.Println(policy)
	for attempt := 1; attempt <= 5; attempt++ {
		fmt.Print(policy.Delay(attempt), " ")
	}
	// Output:
	// stepped 1s 10s 1m0s
	// 1s 10s 1m0s 1m0s 1m0s
}

// A Fibonacci curve, with a ceiling and jitter like any other schedule.
func ExampleCustom() {
	fibonacci := func(n int) time.Duration {
		a, b := time.Duration(0), time.Second
		for range min(n, 40) { // later terms could overflow, and exceed Max
			a, b = b, a+b
		}
		return a
	}
	policy := backoff.Must(backoff.Custom(fibonacci, backoff.Options{
		Max:    10 * time.Second,
		Jitter: backoff.Between(0.8, 1),
		Source: rand.NewPCG(1, 2),
	}))
	for attempt := 1; attempt <= 8; attempt++ {
		fmt.Print(policy.Delay(attempt).Round(time.Millisecond), " ")
	}
	// Output:
	// 954ms 923ms 1.914s 2.878s 4.234s 6.466s 9s 8.899s
}

// A queue consumer is handed a delivery count, which is 1 at the first failure,
// and hands back whole seconds: rounded up, so that no message comes early.
func Example_queueConsumer() {
	policy := backoff.Must(backoff.Exponential(15*time.Second, 1.5, backoff.Options{
		Max: 12 * time.Hour,
	}))
	retryIn := func(deliveries int) (seconds int) {
		return int(math.Ceil(policy.Delay(deliveries).Seconds()))
	}
	for _, deliveries := range []int{1, 2, 3, 20, 1000} {
		fmt.Printf("delivery %d failed, next one in %d s\n", deliveries, retryIn(deliveries))
	}
	// Output:
	// delivery 1 failed, next one in 15 s
	// delivery 2 failed, next one in 23 s
	// delivery 3 failed, next one in 34 s
	// delivery 20 failed, next one in 33253 s
	// delivery 1000 failed, next one in 43200 s
}

// A server that is down may say how long to wait. The client waits that long,
// within limits, or its policy's delay if that is longer.
func ExampleRetryAfter() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch requests++; requests {
		case 1:
			w.Header().Set("Retry-After", "0.02")
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()

	const attempts, limit = 5, time.Minute
	policy := backoff.Must(backoff.Exponential(time.Millisecond, 2, backoff.Options{}))
	get := func(ctx context.Context, url string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		for attempt := 1; ; attempt++ {
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return nil, err
			}
			if resp.StatusCode != http.StatusServiceUnavailable || attempt == attempts {
				return resp, nil
			}
			resp.Body.Close()
			wait := policy.Delay(attempt)
			if asked, ok := backoff.RetryAfter(resp.Header.Get("Retry-After"), time.Now()); ok {
				wait = max(wait, min(asked, limit))
			}
			fmt.Printf("%s, next attempt in %v\n", resp.Status, wait)
			if err := backoff.Sleep(ctx, wait); err != nil {
				return nil, err
			}
		}
	}

	resp, err := get(context.Background(), server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// 503 Service Unavailable, next attempt in 20ms
	// 503 Service Unavailable, next attempt in 2ms
	// 200 OK
}

// Three wrong passwords are free, then the account is locked for longer and
// longer. The failure count and the end of the lock are stored, the latter cut
// to the microseconds that the database keeps.
func ExamplePolicy_lockout() {
	policy := backoff.Must(backoff.Stepped([]time.Duration{
		time.Minute, 5 * time.Minute, time.Hour,
	}, backoff.Options{Free: 3}))

	var account struct { // stands for a row
		failures    int
		lockedUntil time.Time
	}
	signIn := func(now time.Time, password string) string {
		if now.Before(account.lockedUntil) {
			return "locked until " + account.lockedUntil.Format("15:04")
		}
		if password == "secret" {
			account.failures = 0
			return "welcome"
		}
		account.failures++
		account.lockedUntil = policy.At(account.failures, now).Truncate(time.Microsecond)
		return fmt.Sprintf("wrong, failure %d", account.failures)
	}

	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for range 5 {
		fmt.Println(now.Format("15:04"), signIn(now, "guess"))
	}
	now = now.Add(time.Minute)
	fmt.Println(now.Format("15:04"), signIn(now, "guess"))
	fmt.Println(now.Format("15:04"), signIn(now, "secret"))
	now = now.Add(5 * time.Minute)
	fmt.Println(now.Format("15:04"), signIn(now, "secret"))
	// Output:
	// 12:00 wrong, failure 1
	// 12:00 wrong, failure 2
	// 12:00 wrong, failure 3
	// 12:00 wrong, failure 4
	// 12:00 locked until 12:01
	// 12:01 wrong, failure 5
	// 12:01 locked until 12:06
	// 12:06 welcome
}

// A supervisor counts restarts from 0 and forgets them once a worker has run
// for a while.
func Example_supervisor() {
	policy := backoff.Must(backoff.Exponential(time.Second, 2, backoff.Options{Max: time.Minute}))
	const stable = 10 * time.Minute

	restarts := 0
	for _, ran := range []time.Duration{2 * time.Second, time.Second, 5 * time.Second, time.Hour, time.Second} {
		if ran >= stable {
			restarts = 0
		}
		fmt.Printf("ran for %v, restart in %v\n", ran, policy.Delay(restarts+1))
		restarts++
	}
	// Output:
	// ran for 2s, restart in 1s
	// ran for 1s, restart in 2s
	// ran for 5s, restart in 4s
	// ran for 1h0m0s, restart in 1s
	// ran for 1s, restart in 2s
}

// In a test, a seeded Source makes jittered delays exact.
func Example_exactDelays() {
	policy := backoff.Must(backoff.Exponential(time.Second, 2, backoff.Options{
		Jitter: backoff.Fraction(0.2),
		Source: rand.NewPCG(1, 2),
	}))
	for attempt := 1; attempt <= 3; attempt++ {
		fmt.Println(policy.Delay(attempt))
	}
	// Output:
	// 1.107749308s
	// 2.093148979s
	// 4.455084803s
}

// The three kinds of jitter at a ceiling of 10 seconds: only Fraction passes it.
func ExampleJitter() {
	for _, jitter := range []backoff.Jitter{
		backoff.Fraction(0.2),
		backoff.Between(0.5, 1),
		backoff.Full(),
	} {
		policy := backoff.Must(backoff.Constant(10*time.Second, backoff.Options{
			Max:    10 * time.Second,
			Jitter: jitter,
			Source: rand.NewPCG(1, 2),
		}))
		var delays []time.Duration
		for attempt := 1; attempt <= 5; attempt++ {
			delays = append(delays, policy.Delay(attempt).Round(time.Millisecond))
		}
		fmt.Println(delays)
	}
	// Output:
	// [11.077s 10.466s 11.138s 11.186s 8.937s]
	// [8.847s 8.082s 8.922s 8.983s 6.171s]
	// [7.694s 6.164s 7.844s 7.966s 2.343s]
}

func ExampleSleep() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()

	fmt.Println(backoff.Sleep(ctx, time.Millisecond))
	fmt.Println(backoff.Sleep(ctx, time.Hour)) // past the deadline, so at once
	// Output:
	// <nil>
	// backoff: wait of 1h0m0s would pass the deadline: context deadline exceeded
}

func ExampleParseDuration() {
	for _, text := range []string{"15 seconds", "1 hour 30 minutes", "1.5 days", "2w", "3 months", "600"} {
		d, err := backoff.ParseDuration(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(d)
	}
	// Output:
	// 15s
	// 1h30m0s
	// 36h0m0s
	// 336h0m0s
	// backoff: unknown unit "months" (want ns, us, ms, s, sec, m, min, h, hr, d, w, or a word from nanosecond to week) in duration "3 months"
	// backoff: missing unit in duration "600"
}

// A policy as one line of text, with errors that a person can act on.
func ExampleParse() {
	for _, text := range []string{
		"exponential 15s x2, max 12 hours, free 3, jitter 20%",
		"linear 1 second +500 milliseconds, max 1 minute",
		"constant 5s, jitter full",
		"stepped 15s 1m 5m 2h, jitter between 0.8 and 1",
		"exponential 15s, max 12 hours",
		"exponential 15h x2, max 12 hours",
	} {
		policy, err := backoff.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(policy)
	}
	// Output:
	// exponential 15s ×2, max 12h0m0s, free 3, jitter ±20%
	// linear 1s +500ms, max 1m0s
	// constant 5s, jitter full
	// stepped 15s 1m0s 5m0s 2h0m0s, jitter between 0.8 and 1
	// backoff: missing factor in policy "exponential 15s, max 12 hours"
	// backoff: base 15h0m0s above Max 12h0m0s in policy "exponential 15h x2, max 12 hours"
}

// A policy in a configuration file. Where the file has none, the default stays.
func ExampleConfig() {
	settings := struct{ Send, Poll backoff.Config }{
		Send: backoff.Config{Policy: backoff.Must(backoff.Parse("exponential 1s x2, max 1m, jitter full"))},
		Poll: backoff.Config{Policy: backoff.Must(backoff.Parse("constant 1m"))},
	}
	if err := json.Unmarshal([]byte(`{"Send": "exponential 100ms x2, max 300ms"}`), &settings); err != nil {
		fmt.Println(err)
		return
	}
	for attempt := 1; attempt <= 3; attempt++ {
		fmt.Println(settings.Send.Delay(attempt))
	}
	text, err := json.Marshal(settings)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(text))

	fmt.Println(json.Unmarshal([]byte(`{"Send": "expo 100ms x2"}`), &settings))
	// Output:
	// 100ms
	// 200ms
	// 300ms
	// {"Send":"exponential 100ms ×2, max 300ms","Poll":"constant 1m0s"}
	// backoff: unknown schedule "expo" (want exponential, linear, constant or stepped) in policy "expo 100ms x2"
}

// A schedule from settings of one's own. Bad text, a bare number, a bad schedule
// and a misspelt key, which would leave a zero, are errors.
func ExampleDuration() {
	load := func(text string) (backoff.Policy, error) {
		var settings struct{ Base, Max backoff.Duration }
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&settings); err != nil {
			return nil, err
		}
		return backoff.Exponential(settings.Base.Duration, 2, backoff.Options{Max: settings.Max.Duration})
	}
	for _, text := range []string{
		`{"base": "15 seconds", "max": "12 hours"}`,
		`{"base": "15 parsecs", "max": "12 hours"}`,
		`{"base": 15, "max": "12 hours"}`,
		`{"base": "15 hours", "max": "12 hours"}`,
		`{"base": "15 seconds", "maxx": "12 hours"}`,
	} {
		policy, err := load(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(policy)
	}
	// Output:
	// exponential 15s ×2, max 12h0m0s
	// backoff: unknown unit "parsecs" (want ns, us, ms, s, sec, m, min, h, hr, d, w, or a word from nanosecond to week) in duration "15 parsecs"
	// json: cannot unmarshal number into Go struct field .Base of type backoff.Duration
	// backoff: base 15h0m0s above Max 12h0m0s
	// json: unknown field "maxx"
}

// The same from a flag, or an environment variable.
func ExampleDuration_flag() {
	wait := backoff.Duration{Duration: time.Minute} // the default
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.SetOutput(os.Stdout)
	flags.TextVar(&wait, "wait", wait, "`duration` to wait between attempts")
	if text, ok := os.LookupEnv("WORKER_WAIT"); ok {
		if err := wait.UnmarshalText([]byte(text)); err != nil {
			fmt.Println("WORKER_WAIT:", err)
			return
		}
	}
	fmt.Println(wait)
	if err := flags.Parse([]string{"-wait", "1 hour 30 minutes"}); err == nil {
		fmt.Println(wait)
	}
	flags.Parse([]string{"-wait", "600"})
	// Output:
	// 1m0s
	// 1h30m0s
	// invalid value "600" for flag -wait: backoff: missing unit in duration "600"
	// Usage of worker:
	//   -wait duration
	//     	duration to wait between attempts (default 1m0s)
}

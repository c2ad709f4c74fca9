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
	"sync"
	"sync/atomic"
	"time"

	"example.com/backoff"
)

func Example() {
	policy := backoff.Must(backoff.Exponential(time.Millisecond, 2, backoff.Options{
		Max:    30 * time.Second,
		Jitter: backoff.Full(),
	})) // from 1 ms, so that this runs fast: a network wants 100 ms or more

	calls := 0
	send := func(context.Context) error { // stands for your own, and fails twice
		if calls++; calls < 3 {
			return errors.New("service unavailable")
		}
		return nil
	}

	deliver := func(ctx context.Context) error {
		var failed error // every attempt's error: the last may only say that ctx ended
		for attempt := 1; ; attempt++ {
			err := send(ctx)
			if err == nil {
				return nil
			}
			failed = errors.Join(failed, fmt.Errorf("attempt %d: %w", attempt, err))
			if attempt == 5 {
				return errors.Join(failed, ctx.Err())
			}
			if stop := backoff.Sleep(ctx, policy.Delay(attempt)); stop != nil {
				return errors.Join(failed, stop)
			}
		}
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := deliver(ctx)
	fmt.Println(calls, "calls, error:", err)
	// Output:
	// 3 calls, error: <nil>
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

// Squares, as job queues use them. The curve sees to it that no square overflows;
// those it leaves out are past Max.
func ExampleCustom() {
	squares := func(n int) time.Duration {
		n = min(n, 1000)
		return time.Duration(n*n) * time.Second
	}
	policy := backoff.Must(backoff.Custom(squares, backoff.Options{Max: 24 * time.Hour}))
	for _, attempt := range []int{1, 2, 3, 10, 100, 1_000_000_000} {
		fmt.Print(policy.Delay(attempt), " ")
	}
	// Output:
	// 1s 4s 9s 1m40s 2h46m40s 24h0m0s
}

// A queue consumer is handed a delivery count, which is 1 at the first failure,
// and hands back whole seconds, rounded up so that no message comes early. A queue
// that hides messages for 12 hours at most, as SQS does, counts them from the moment
// of receipt, so it refuses a full 12: Max is well inside, and no jitter exceeds it.
func Example_queueConsumer() {
	policy := backoff.Must(backoff.Exponential(15*time.Second, 1.5, backoff.Options{
		Max:    11 * time.Hour,
		Jitter: backoff.Between(0.8, 1),
	}))
	for _, deliveries := range []int{1, 2, 20, 1000} {
		delay := policy.Delay(deliveries)
		seconds := int(math.Ceil(delay.Seconds()))
		fmt.Printf("delivery %d failed, next one early: %t, within 11 hours: %t\n",
			deliveries, time.Duration(seconds)*time.Second < delay, seconds <= 11*60*60)
	}
	// Output:
	// delivery 1 failed, next one early: false, within 11 hours: true
	// delivery 2 failed, next one early: false, within 11 hours: true
	// delivery 20 failed, next one early: false, within 11 hours: true
	// delivery 1000 failed, next one early: false, within 11 hours: true
}

// A client tries again where there is no response, too many requests or no service.
// It waits as long as the server asks and its policy's delay on top: never early,
// and still spread, as every client is asked the same. Where the server asks for
// more than the client is ready to wait, it gives up.
func ExampleRetryAfter() {
	const attempts, limit = 5, time.Minute
	policy := backoff.Must(backoff.Exponential(time.Millisecond, 2, backoff.Options{
		Max:    10 * time.Second,
		Jitter: backoff.Full(),
	})) // from 1 ms, so that this runs fast: a network wants 100 ms or more

	// try returns a response, or an error and how long the server asks to wait.
	try := func(req *http.Request) (*http.Response, time.Duration, error) {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, 0, err
		}
		if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
			return resp, 0, nil
		}
		resp.Body.Close()
		now, err := http.ParseTime(resp.Header.Get("Date")) // the clock of the server
		if err != nil {
			now = time.Now()
		}
		asked, _ := backoff.RetryAfter(resp.Header.Get("Retry-After"), now)
		return nil, asked, errors.New(resp.Status)
	}
	get := func(ctx context.Context, url string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		var failed error // every attempt's error: the last may only say that ctx ended
		for attempt := 1; ; attempt++ {
			resp, asked, err := try(req)
			if err == nil {
				return resp, nil
			}
			failed = errors.Join(failed, err)
			if asked > limit {
				return nil, fmt.Errorf("%w: the server asks to wait %v", failed, asked)
			}
			if attempt == attempts {
				return nil, errors.Join(failed, ctx.Err())
			}
			if stop := backoff.Sleep(ctx, asked+policy.Delay(attempt)); stop != nil {
				return nil, errors.Join(failed, stop)
			}
		}
	}

	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := requests.Add(1)
		switch {
		case r.URL.Path == "/busy":
			w.Header().Set("Date", "Tue, 01 Dec 2026 09:00:00 GMT")
			w.Header().Set("Retry-After", "Tue, 01 Dec 2026 10:30:00 GMT")
			w.WriteHeader(http.StatusTooManyRequests)
		case r.URL.Path == "/down":
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusServiceUnavailable)
		case n == 1:
			panic(http.ErrAbortHandler) // no response
		case n == 2:
			w.Header().Set("Retry-After", "0.02")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	start := time.Now()
	resp, err := get(ctx, server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Printf("%s after %d requests, 20 ms or more: %t\n", resp.Status, requests.Load(), time.Since(start) >= 20*time.Millisecond)

	_, err = get(ctx, server.URL+"/busy")
	fmt.Println(err)

	_, err = get(ctx, server.URL+"/down") // past the deadline, so at once
	status, _, _ := strings.Cut(err.Error(), "\n")
	fmt.Println(status, errors.Is(err, context.DeadlineExceeded))
	// Output:
	// 200 OK after 3 requests, 20 ms or more: true
	// 429 Too Many Requests: the server asks to wait 1h30m0s
	// 503 Service Unavailable true
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

// A supervisor starts a worker again after each failure, and prints it. It forgets
// the failures once a worker has run for a while: not at each start, or one that
// fails at once would never have to wait longer.
func Example_supervisor() {
	policy := backoff.Must(backoff.Exponential(time.Millisecond, 2, backoff.Options{
		Max:    time.Minute,
		Jitter: backoff.Full(),
	})) // from 1 ms, so that this runs fast: a worker wants a second or more
	const healthy = 100 * time.Millisecond // short as well: a worker wants minutes

	supervise := func(ctx context.Context, name string, worker func(context.Context) error) error {
		for failures := 1; ; failures++ {
			start := time.Now()
			err := worker(ctx)
			if err == nil {
				return nil
			}
			if time.Since(start) >= healthy {
				failures = 1
			}
			if stop := backoff.Sleep(ctx, policy.Delay(failures)); stop != nil {
				return errors.Join(err, stop)
			}
			fmt.Printf("%s: %v, started again after failure %d\n", name, err, failures)
		}
	}

	// Both workers fail twice. Then one runs well for a while before it fails, too.
	var working, ended sync.WaitGroup
	worker := func(runsWell bool) func(context.Context) error {
		run := 0
		return func(ctx context.Context) error {
			run++
			switch {
			case run <= 2:
				return errors.New("refused")
			case run == 3 && runsWell:
				time.Sleep(healthy)
				return errors.New("disconnected")
			}
			working.Done()
			<-ctx.Done()
			return errors.New("interrupted")
		}
	}
	shutdown := errors.New("shutdown")
	ctx, cancel := context.WithCancelCause(context.Background())
	working.Add(2)
	for name, work := range map[string]func(context.Context) error{"mail": worker(false), "feed": worker(true)} {
		ended.Go(func() {
			err := supervise(ctx, name, work)
			message, _, _ := strings.Cut(err.Error(), "\n")
			fmt.Printf("%s: %s, for the shutdown: %t\n", name, message, errors.Is(err, shutdown))
		})
	}
	working.Wait()
	cancel(shutdown)
	ended.Wait()
	// Unordered output:
	// mail: refused, started again after failure 1
	// mail: refused, started again after failure 2
	// feed: refused, started again after failure 1
	// feed: refused, started again after failure 2
	// feed: disconnected, started again after failure 1
	// mail: interrupted, for the shutdown: true
	// feed: interrupted, for the shutdown: true
}

// In a test, a seeded Source makes jittered delays exact. In a service it would give
// every client the same ones.
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

// The three kinds of jitter at a ceiling of 10 seconds: only Fraction passes it. The
// Source is seeded for the sake of the output, and otherwise left out.
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
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
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
		return backoff.Exponential(settings.Base.Duration, 2, backoff.Options{
			Max:    settings.Max.Duration,
			Jitter: backoff.Full(),
		})
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
	// exponential 15s ×2, max 12h0m0s, jitter full
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

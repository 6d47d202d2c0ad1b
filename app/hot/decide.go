package hot

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/app/refusal"
)

// attemptsMax is how often a batch is brought to Redis: once, again after loading, and once more if
// the auction was frozen or moved in between.
const attemptsMax = 4

//go:embed decide.lua
var decideText string

var decideScript = redis.NewScript(decideText)

// reply is what the script answered: a word, and with OK the rest.
type reply struct {
	word    string
	state   auction.State
	answers []string
	recent  []auction.Bid
	now     time.Time // Redis's clock, by which it was decided
}

// Decide decides requests for one auction in Redis, together, as the standard desk does in
// PostgreSQL. The update is nil when nothing was accepted. It returns ErrStandard if the auction is
// not in this lane (nothing was decided then), auction.ErrNotFound, or an error that wraps
// auction.ErrUnavailable.
func (l *Lane) Decide(
	ctx context.Context, id int64, requests []auction.Request,
) ([]auction.Answer, *auction.Update, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, away(err) // the time went by in the other lane
	}
	drawn, err := l.ids.take(ctx, len(requests))
	if err != nil {
		return nil, nil, err
	}
	// Ids are given back unless the script may have used them. A gap among ids is nothing; an id
	// given twice would be.
	unused := drawn
	defer func() { l.ids.giveBack(unused) }()
	for range attemptsMax {
		t, err := l.termsOf(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		unused = nil
		r, err := l.ask(ctx, t, requests, drawn)
		if err != nil {
			return nil, nil, err
		}
		switch r.word {
		case "OK":
			answers, accepted, err := t.answers(requests, r)
			if err != nil {
				return nil, nil, err
			}
			unused = unusedOf(drawn, answers)
			if !accepted {
				return answers, nil, nil
			}
			l.mark(id, t.epoch)
			return answers, &auction.Update{State: r.state, Recent: r.recent}, nil
		case "UNLOADED", "FROZEN":
			unused = drawn
			l.forget(id, t)
		default:
			return nil, nil, fmt.Errorf(
				"hot: auction %d is %s: %w", id, strings.ToLower(r.word), auction.ErrUnavailable,
			)
		}
	}
	return nil, nil, fmt.Errorf("hot: auction %d is being moved: %w", id, auction.ErrUnavailable)
}

func unusedOf(drawn []int64, answers []auction.Answer) []int64 {
	var unused []int64
	for i, a := range answers {
		if a.Refusal != nil || a.Replayed {
			unused = append(unused, drawn[i])
		}
	}
	return unused
}

// ask runs the script. An error leaves open whether it ran.
func (l *Lane) ask(ctx context.Context, t *terms, requests []auction.Request, drawn []int64) (reply, error) {
	args := make([]any, 0, 2+7*len(requests))
	args = append(args, t.epoch, auction.RecentMax)
	for i, r := range requests {
		amount, following, own, far := "", "", "", ""
		if a, err := r.Amount.In(t.Currency); err == nil {
			amount, following = amountText(a), amountText(a.Add(t.MinIncrement))
			if r.Ask.FarAbove && a.IsPositive() {
				far = amountText(auction.FarAboveUpTo(a))
			}
		}
		if r.Ask.OwnLead {
			own = "own"
		}
		args = append(args, r.Key.String(), r.BidderID, amount, following, drawn[i], own, far)
	}
	n := l.namesOf(t.ID, t.epoch)
	values, err := decideScript.Run(ctx, l.client, n.all(), args...).Slice()
	if err != nil {
		return reply{}, away(err)
	}
	r, err := readReply(values, t, len(requests))
	if err != nil {
		l.metrics.garbled.Inc()
	}
	return r, err
}

func readReply(values []any, t *terms, asked int) (reply, error) {
	garbled := func() (reply, error) { return reply{}, fmt.Errorf("%w: reply %v", errGarbled, values) }
	if len(values) == 0 {
		return garbled()
	}
	r := reply{word: fmt.Sprint(values[0])}
	if r.word != "OK" {
		return r, nil
	}
	if len(values) != 5 {
		return garbled()
	}
	state, isState := values[1].([]any)
	answers, isAnswers := values[2].([]any)
	recent, isRecent := values[3].([]any)
	if !isState || !isAnswers || !isRecent || len(answers) != asked {
		return garbled()
	}
	for _, answer := range answers {
		r.answers = append(r.answers, fmt.Sprint(answer))
	}
	var stateErr, recentErr, nowErr error
	r.state, stateErr = readState(state, t)
	r.recent, recentErr = readBids(recent, t)
	r.now, nowErr = readMoment(fmt.Sprint(values[4]))
	return r, errors.Join(stateErr, recentErr, nowErr)
}

// answers reads the script's words as the rulebook's answers.
func (t *terms) answers(requests []auction.Request, r reply) (answers []auction.Answer, accepted bool, err error) {
	answers = make([]auction.Answer, len(r.answers))
	for i, text := range r.answers {
		if answers[i], err = t.answer(requests[i], text, r.now); err != nil {
			return nil, false, err
		}
		accepted = accepted || answers[i].Refusal == nil && !answers[i].Replayed
	}
	return answers, accepted, nil
}

func (t *terms) answer(r auction.Request, text string, now time.Time) (auction.Answer, error) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "NEW", "AGAIN":
		bid, err := readBid(rest, t)
		bid.Key = r.Key
		return auction.Answer{Bid: bid, Replayed: word == "AGAIN"}, err
	case "REUSED":
		return auction.Answer{Refusal: auction.ErrKeyReused}, nil
	case "OWN":
		return auction.Answer{Refusal: auction.ErrOwnAuction}, nil
	case "EARLY":
		return auction.Answer{Refusal: &auction.NotStartedError{StartAt: t.StartAt}}, nil
	case "AMOUNT":
		_, err := r.Amount.In(t.Currency)
		return auction.Answer{
			Refusal: refusal.Of("amount", refusal.Amount(err, t.Currency)),
		}, nil
	case "CLOSED":
		end, err := readMoment(rest)
		return auction.Answer{Refusal: &auction.ClosedError{EndAt: end, DecidedAt: now}}, err
	case "ASK":
		return t.unconfirmed(r, rest)
	case "LOW":
		priceText, endText, _ := strings.Cut(rest, ":")
		minor, priceErr := strconv.ParseInt(priceText, 10, 64)
		end, endErr := readMoment(endText)
		price := money.FromMinor(minor, t.Currency)
		low := &auction.TooLowError{
			CurrentPrice: price, MinimumBid: price.Add(t.MinIncrement), EndAt: end, DecidedAt: now,
		}
		return auction.Answer{Refusal: low}, errors.Join(priceErr, endErr)
	}
	return auction.Answer{}, fmt.Errorf("%w: answer %q", errGarbled, text)
}

// unconfirmed reads which questions are open, and the price they were raised at.
func (t *terms) unconfirmed(r auction.Request, text string) (auction.Answer, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return auction.Answer{}, fmt.Errorf("%w: question %q", errGarbled, text)
	}
	minor, err := strconv.ParseInt(parts[2], 10, 64)
	amount, _ := r.Amount.In(t.Currency)
	price := money.FromMinor(minor, t.Currency)
	return auction.Answer{Refusal: &auction.UnconfirmedError{
		Questions: auction.Questions{OwnLead: parts[0] != "", FarAbove: parts[1] != ""},
		Amount:    amount, CurrentPrice: price, MinimumBid: price.Add(t.MinIncrement),
	}}, err
}

func readMoment(text string) (time.Time, error) {
	micros, err := strconv.ParseInt(text, 10, 64)
	return moment(micros), err
}

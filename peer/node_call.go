package peer

import (
	"bytes"
	"context"
	"fmt"
)

func (n *node) Call(ctx context.Context, to NodeID, method string, req []byte) ([]byte, error) {
	rep, err := n.call(ctx, to, method, req)
	if err != nil {
		return nil, fmt.Errorf("call %s on %s: %w", method, to, err)
	}
	return rep, nil
}

func (n *node) call(ctx context.Context, to NodeID, method string, req []byte) ([]byte, error) {
	if len(req) > MaxCallBytes {
		return nil, fmt.Errorf("request of %d bytes: %w", len(req), ErrTooLarge)
	}
	if err := checkName("method", method); err != nil {
		return nil, err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, n.opt.CallTimeout)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := n.member(to)
	if err != nil {
		return nil, err
	}
	if to == n.opt.Self {
		return n.callSelf(ctx, method, req)
	}
	a, err := n.wire.call(ctx, m, method, req)
	if err != nil {
		return nil, err
	}
	n.health.seen(to)
	return a.open(to)
}

// callSelf is a call without a network, but with its manners.
func (n *node) callSelf(ctx context.Context, method string, req []byte) ([]byte, error) {
	n.mu.RLock()
	if n.state != started {
		n.mu.RUnlock()
		return nil, ErrClosed
	}
	n.wg.Add(1)
	n.mu.RUnlock()
	defer n.wg.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(n.ctx, func() { cancel(ErrClosed) })()
	a := n.serveCall(ctx, n.opt.Self, method, bytes.Clone(req))
	a.body = bytes.Clone(a.body)
	return a.open(n.opt.Self)
}

func (n *node) member(name NodeID) (Member, error) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.state != started {
		return Member{}, ErrClosed
	}
	if m, ok := n.members[name]; ok || name == n.opt.Self {
		return m, nil
	}
	return Member{}, ErrUnknownMember
}

// serveCall carries out a call that reached this node.
func (n *node) serveCall(ctx context.Context, from NodeID, method string, req []byte) answer {
	n.mu.RLock()
	h := n.calls[method]
	n.mu.RUnlock()
	if h == nil {
		return answer{answerError, encodeError(fmt.Errorf("call %q: %w", method, ErrNoHandler))}
	}
	rep, err := h(ctx, from, req)
	if err == nil && len(rep) > MaxCallBytes {
		err = fmt.Errorf("answer of %d bytes: %w", len(rep), ErrTooLarge)
	}
	if err != nil {
		return answer{answerError, encodeError(err)}
	}
	return answer{answerOK, rep}
}

// pingMethod is the heartbeat; its answer is empty.
const pingMethod = "peer.ping"

func (n *node) ping(ctx context.Context, to NodeID) error {
	_, err := n.call(ctx, to, pingMethod, nil)
	return err
}

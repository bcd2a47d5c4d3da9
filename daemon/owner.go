package daemon

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
)

// askOwner calls the node that has a file's bytes. If that node is lost it
// waits: the file is rebuilt on another node, or its dataset is given up.
// A program that reads meanwhile is late, not wrong.
func (n *Node) askOwner(ctx context.Context, i *catalog.Inode, call string, req any) ([]byte, error) {
	b, err := encodeGob(req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), proposeTimeout)
	defer cancel()
	for {
		owner, err := n.ownerNow(i)
		if err != nil {
			return nil, err
		}
		reply, err := n.ask(ctx, owner, call, b)
		if err == nil {
			return reply, nil
		}
		err = fmt.Errorf("%s of dataset %d, inode %d on node %s: %w", call, i.Dataset, i.Ino, owner, err)
		if !lostNode(err) || ctx.Err() != nil {
			return nil, err
		}
		if werr := n.awaitOwner(ctx, i, owner); werr != nil {
			return nil, errors.Join(werr, err)
		}
	}
}

// lostNode tells whether an error says that the node did not answer, rather
// than what it answered.
func lostNode(err error) bool {
	return errors.Is(err, peer.ErrUnreachable) || errors.Is(err, peer.ErrDown) || errors.Is(err, context.DeadlineExceeded)
}

// ownerNow is the node that has the bytes now: a file that was rebuilt has
// moved since it was opened.
func (n *Node) ownerNow(i *catalog.Inode) (string, error) {
	owner, gone := i.Owner, false
	n.group.view(func(t *catalog.State, m *lifecycle.Machine) {
		if now := t.Inode(i.Ino); now != nil {
			owner = now.Owner
			return
		}
		d, ok := m.Dataset(i.Dataset)
		gone = !ok || d.Finished()
	})
	if gone {
		return "", syscall.ESTALE
	}
	return owner, nil
}

// awaitOwner waits until a file has moved away from a node, or that node is
// worth another try.
func (n *Node) awaitOwner(ctx context.Context, i *catalog.Inode, old string) error {
	ctx, cancel := context.WithTimeout(ctx, retryPause)
	defer cancel()
	defer n.group.wakeOn(ctx)()
	n.group.mu.Lock()
	defer n.group.mu.Unlock()
	for ctx.Err() == nil {
		if now := n.group.state.Inode(i.Ino); now == nil || now.Owner != old {
			return nil
		}
		if n.ctx.Err() != nil {
			return syscall.EIO
		}
		n.group.changed.Wait()
	}
	return nil // the pause is over: try again
}

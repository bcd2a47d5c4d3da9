package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/scrfs/scrfs/scr"
)

// prefixEpochs gives out leadership and dataset ids over the prefix directory:
// a file that is created exclusively is an epoch, or a block of ids, taken.
type prefixEpochs struct {
	n *Node

	mu        sync.Mutex
	next      scr.DatasetID // of the block in hand
	left      int
	spare     scr.DatasetID // first id of the next block, 0 if none is reserved
	reserving bool
}

// epochName is the file of one epoch.
func epochName(epoch int64) string {
	return path.Join(stateDir, "epoch."+strconv.FormatInt(epoch, 10))
}

func (p *prefixEpochs) Claim(_ context.Context, epoch int64, node string) (bool, error) {
	var claimed bool
	err := p.n.prefix.Do(func() error {
		f, err := p.n.prefixDisk.OpenFile(epochName(epoch), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err != nil {
			return err
		}
		claimed = true
		_, err = f.Write([]byte(node + "\n"))
		return errors.Join(err, f.Close())
	})
	return claimed, err
}

func (p *prefixEpochs) Last(context.Context) (int64, error) {
	var last int64
	err := p.n.prefix.Do(func() error {
		list, err := p.n.prefixDisk.ReadDir(stateDir)
		if err != nil {
			return err
		}
		for _, e := range list {
			if text, ok := strings.CutPrefix(e.Name(), "epoch."); ok {
				if epoch, err := strconv.ParseInt(text, 10, 64); err == nil {
					last = max(last, epoch)
				}
			}
		}
		return nil
	})
	return last, err
}

// FreshID takes an id from the block in hand. The next block is reserved in
// the background, so that a prefix directory that hangs does not stop a
// dataset from beginning. Blocks in hand since before another node led, and
// gave out greater ids, are given up.
func (p *prefixEpochs) FreshID(ctx context.Context, after scr.DatasetID) (scr.DatasetID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.left == 0 || p.next <= after {
		if p.left > 0 {
			p.next, p.left = p.next+1, p.left-1
			continue
		}
		if p.spare == 0 {
			first, err := p.reserve(ctx)
			if err != nil {
				return 0, err
			}
			p.spare = first
		}
		p.next, p.left, p.spare = p.spare, scr.IDBlock, 0
	}
	if p.spare == 0 && !p.reserving {
		p.reserving = true
		p.n.wg.Add(1)
		go p.reserveSpare()
	}
	id := p.next
	p.next, p.left = p.next+1, p.left-1
	return id, nil
}

func (p *prefixEpochs) reserveSpare() {
	defer p.n.wg.Done()
	first, err := p.reserve(p.n.ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserving = false
	if err != nil {
		p.n.log.Warn("dataset ids are not reserved ahead", slog.Any("err", err))
		return
	}
	p.spare = first
}

func (p *prefixEpochs) reserve(ctx context.Context) (scr.DatasetID, error) {
	var first scr.DatasetID
	err := p.n.prefix.Do(func() (err error) {
		first, err = p.n.index.ReserveIDs(ctx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("reserve %d dataset ids: %w", scr.IDBlock, err)
	}
	return first, nil
}

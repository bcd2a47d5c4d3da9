package daemon

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/scr"
)

// adopt looks at what an earlier daemon left in the cache. What the job still
// knows stays as it is. What is on the prefix directory already goes, to make
// room, as does everything if the user has asked for that. The rest is kept, untouched, for scr-postrun: this job did not see it
// written, so it cannot tell whether it is whole.
func (n *Node) adopt(ctx context.Context) error {
	var left []scr.DatasetID
	n.group.view(func(_ *catalog.State, m *lifecycle.Machine) {
		for _, id := range n.store.Datasets() {
			if d, ok := m.Dataset(id); !ok || d.Finished() {
				left = append(left, id)
			}
		}
	})
	if len(left) == 0 {
		return nil
	}
	published, err := n.published(ctx)
	if err != nil {
		return err
	}
	for _, id := range left {
		if !published[id] && !n.opts.PurgeCache {
			n.log.Warn("cache holds a dataset of an earlier run that is not on the prefix directory; scr-postrun rescues it",
				slog.Int64("dataset", int64(id)))
			continue
		}
		if err := n.store.RemoveDataset(id); err != nil {
			return fmt.Errorf("remove dataset %d of an earlier run: %w", id, err)
		}
	}
	return nil
}

// published are the datasets that the index calls complete.
func (n *Node) published(ctx context.Context) (map[scr.DatasetID]bool, error) {
	done := map[scr.DatasetID]bool{}
	err := n.prefix.Do(func() error {
		list, err := n.index.List(ctx)
		for _, e := range list {
			done[e.ID] = done[e.ID] || e.Complete == scr.LimitOf(1)
		}
		return err
	})
	return done, err
}

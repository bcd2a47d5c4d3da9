package daemon

import (
	"context"
	"log/slog"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/router"
)

// marked tells the job if a file that was closed, or renamed into place, is a
// marker: by a rule it ends its dataset, by its name alone it is a sign.
func (n *Node) marked(ctx context.Context, ino catalog.Ino) {
	i := n.inode(uint64(ino))
	if i == nil || i.IsDir() {
		return
	}
	p, ok := n.pathOf(i)
	if !ok {
		return
	}
	rc := router.Context{Plain: true}
	if n.router.NeedsSiblings(p, router.File) {
		n.group.view(func(t *catalog.State, _ *lifecycle.Machine) {
			for _, s := range t.List(i.Parent) {
				rc.Siblings = append(rc.Siblings, s.Name)
			}
		})
	}
	d := n.router.Route(p, router.File, rc)
	if !d.Commit {
		return
	}
	ev := lifecycle.Event{Kind: lifecycle.Hint, Dataset: i.Dataset}
	if d.ByRule {
		ev.Kind = lifecycle.Commit
	}
	if err := n.group.announce(ctx, ev); err != nil && n.ctx.Err() == nil {
		n.log.Warn("a marker was not told of; the quiet time ends its dataset", slog.String("path", p), slog.Any("err", err))
	}
}

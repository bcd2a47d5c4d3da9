package cluster

import (
	"fmt"
	"strings"
	"time"
)

func name(i int) string     { return fmt.Sprintf("node%d", i) }
func address(i int) string  { return fmt.Sprintf("10.77.0.%d", i+1) }
func hardware(i int) string { return fmt.Sprintf("02:00:00:00:00:%02x", i) }

// neighbours are lines for ip that tell node self the hardware addresses of
// all others. Asking for them instead would take a second after a node was
// asked for in vain, or was restarted or cut.
func neighbours(self int) string {
	var lines strings.Builder
	for i := range MaxNodes + 1 {
		if i != self {
			fmt.Fprintf(&lines, "neigh add %s lladdr %s nud permanent dev eth0\n", address(i), hardware(i))
		}
	}
	return lines.String()
}

// awaitPort waits until the bridge forwards to the node, which is some time
// after the link is up.
func (n *Node) awaitPort() error {
	limit := time.NewTimer(startTimeout)
	defer limit.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		state, err := n.cluster.fabric.show("link", "show", n.port())
		if err != nil {
			return err
		}
		if strings.Contains(state, " state forwarding ") {
			return nil
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("the network does not reach %s: %s", n.Name, state)
		}
	}
}

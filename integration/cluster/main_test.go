package cluster

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
)

// TestMain is also the small programs that the tests run on nodes: the test
// binary with a word that is no flag.
func TestMain(m *testing.M) {
	Init()
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case "answer":
			exit(answer(os.Args[2]))
		case "ask":
			exit(ask(os.Args[2]))
		case "be-killed":
			exit(beKilled(os.Args[2]))
		case "mirror":
			exit(mirror(os.Args[2]))
		}
	}
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// answer says "listening" and then its host name to everybody who connects.
func answer(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	fmt.Println("listening")
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		io.WriteString(c, host)
		c.Close()
	}
}

// ask prints what the other end says.
func ask(addr string) error {
	d := net.Dialer{Timeout: 1e9}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.Copy(os.Stdout, c)
	return err
}

// beKilled brings up nodes, prints the process ids of all that hold them, and
// waits for the end.
func beKilled(dir string) error {
	c, err := New(dir, Options{})
	if err != nil {
		return err
	}
	if err := c.Up(2); err != nil {
		return err
	}
	// A program on a node, outside of this one's process group.
	busy := c.Node(1).Command("setsid", "sleep", "600")
	if err := busy.Start(); err != nil {
		return err
	}
	pids := []int{c.fabric.pid(), c.login.proc.pid(), c.Node(1).proc.pid(), c.Node(2).proc.pid(), busy.Process.Pid}
	fmt.Println(strings.Trim(fmt.Sprint(pids), "[]"))
	select {}
}

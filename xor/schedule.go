package xor

// Step is what one member does in one step of a pipelined ring, for one piece:
// take the partial result for Position from the left neighbour, merge its own
// bytes into it, and pass it on.
type Step struct {
	Position int  // the position whose partial result is in hand
	Receive  bool // a partial result comes from the left neighbour; else it begins as zeros
	Source   Source
	Block    int  // block of the logical file to merge, if Source is FromFiles
	Send     bool // the partial result goes to the right neighbour
	Store    bool // the result is whole and this member keeps it
}

// Source says which bytes of its own a member merges in a step.
type Source int

// The sources: nothing (the member has zeros there), a block of its logical
// file, or its stored payload.
const (
	FromNothing Source = iota
	FromFiles
	FromPayload
)

// EncodeSteps returns what member does for each piece to compute the payloads
// of the whole set: Members steps, of which all but the last send to the right
// and all but the first receive from the left. Each block of the member's
// logical file occurs once, so over all pieces it reads each of its bytes
// once, and its payload is stored once, in the last step.
//
// The partial result for position p begins at the right neighbour of p and
// ends at p. In each step all members work on different positions, so all
// links and all members are busy in every step.
func (l Layout) EncodeSteps(member int) []Step {
	steps := make([]Step, l.Members)
	for k := range steps {
		position := (member - 1 - k + 2*l.Members) % l.Members
		s := Step{Position: position, Receive: k > 0}
		if block, ok := l.BlockAt(member, position); ok {
			s.Source, s.Block, s.Send = FromFiles, block, true
		} else {
			s.Store = true
		}
		steps[k] = s
	}
	return steps
}

// RebuildSteps returns what member does for each piece to bring back the lost
// member: one step per position, in ascending order, with which the lost
// logical file comes back in order and its payload at the lost member's own
// position. The partial results begin at the right neighbour of the lost
// member, pass all survivors and end at the lost one, which reads nothing.
func (l Layout) RebuildSteps(lost, member int) []Step {
	steps := make([]Step, l.Members)
	for position := range steps {
		s := Step{Position: position, Receive: member != l.Right(lost)}
		block, ok := l.BlockAt(member, position)
		switch {
		case member == lost:
			s.Store = true
		case ok:
			s.Source, s.Block, s.Send = FromFiles, block, true
		default:
			s.Source, s.Send = FromPayload, true
		}
		steps[position] = s
	}
	return steps
}

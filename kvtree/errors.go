package kvtree

import "errors"

// Errors of this package, to be asked for with errors.Is. What is returned
// wraps them and says where: the offset in the file, the line of the text, or
// the key and its value.
var (
	// ErrFormat means that bytes or text are no hash: wrong magic, type,
	// version or size, a count or key that leaves its bounds, a key twice, too
	// deep. A file cut short is ErrFormat and io.ErrUnexpectedEOF.
	ErrFormat = errors.New("not a valid hash")
	// ErrCRC means that the bytes are whole, but not those that were written.
	ErrCRC = errors.New("hash has a wrong CRC")
	// ErrMissing means that a field is absent.
	ErrMissing = errors.New("key is missing")
	// ErrValue means that a field is there and its value is not of the kind
	// asked for, or that it has no value, or more than one.
	ErrValue = errors.New("bad value")
)

// Package router decides which paths scrfs caches.
//
// A Table answers for one path at a time: claimed, so that it lives in the
// node's cache and belongs to a dataset, or bypassed, so that it goes to the
// prefix directory untouched. User rules come first, in their order; what no
// rule names is judged by its name, and a name that says nothing is bypassed.
// The defaults are made so that the programs people run need no rules: see
// names.go for what a name tells, and defaults.go for the order of questions.
//
// The package is pure. It opens no file, knows no dataset and remembers
// nothing between two questions; when a dataset begins or ends is the
// business of lifecycle. A Table is made once and never changes, so any
// number of goroutines may ask it; there are no locks.
package router

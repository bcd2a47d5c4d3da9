// Package space mounts over caches that are too small, and holds that programs
// do not notice. It has tests alone.
package space

package main

import (
	"math"
	"slices"
	"strings"
)

// Command is one command of the memory tool as a process carried it out.
type Command struct {
	Client  int    `json:"client"`
	Command string `json:"command"`
	Path    string `json:"path"`
	To      string `json:"to"`
	Text    string `json:"text"`
	// What a rename has moved, where its paths leave that open: "file", "directory", "nothing".
	Moves string `json:"moves"`
	Old   string `json:"old"`
	// Of one monotonic clock. Without an answer End is the last instant at which its process lived, and Until the one at
	// which its last request had left the network: nothing of it happens later.
	Call  int64 `json:"call"`
	End   int64 `json:"end"`
	Until int64 `json:"until"`
	// "ok", "unknown", or the code of the failure.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	// What a view showed: the text of a file, or the sizes of files by path.
	Shown  *string        `json:"shown"`
	Listed map[string]int `json:"listed"`

	// Its place in the history, from 1, and whether it may have changed anything.
	number    int
	effective bool
}

// History is what several processes did with one tenant's tree, which was empty before.
type History struct {
	Name     string    `json:"name"`
	Paths    []string  `json:"paths"`
	Commands []Command `json:"commands"`
	// Clients sent requests again whose answers were lost.
	Resends bool `json:"resends"`
}

func (c Command) answered() bool { return c.Outcome != "unknown" }

// last is the last instant at which the command may have had an effect.
func (c Command) last() int64 {
	if c.answered() {
		return c.End
	}
	return max(c.End, c.Until)
}

func (c Command) overlaps(other Command) bool {
	return c.Call <= other.reach() && other.Call <= c.reach()
}

// reach is like last, but others may bring a rename of a directory to its end at any time. What is renamed is not told
// here, so that it counts for files, too.
func (c Command) reach() int64 {
	if c.Command == "rename" && !c.answered() {
		return math.MaxInt64
	}
	return c.last()
}

// number gives the commands their places and finds out which of them may have had an effect, if only for a moment: a
// refused create or rename may have taken back what it wrote. What never had a file to work on had none.
func (h *History) number() {
	for i := range h.Commands {
		h.Commands[i].number = i + 1
	}
	for changed := true; changed; {
		changed = false
		for i := range h.Commands {
			c := &h.Commands[i]
			if !c.effective && h.mayHaveEffect(*c) {
				c.effective, changed = true, true
			}
		}
	}
}

func (h History) mayHaveEffect(c Command) bool {
	target := c.Outcome == "already_exists" && c.Reason == ""
	switch c.Command {
	case "arrival", "loss", "repair":
		return true
	case "create":
		return !target
	case "insert", "str_replace":
		return c.changes() && h.everThere(c.Path, c)
	case "delete":
		return c.changes() && slices.ContainsFunc(append(h.below(c.Path), c.Path), func(path string) bool {
			return h.everThere(path, c)
		})
	case "rename":
		if c.Moves == "nothing" {
			return false
		}
		if h.renamesDirectory(c) {
			return h.mayRenameDirectory(c)
		}
		if target && c.Moves == "" || !h.everThere(c.Path, c) {
			return false
		}
		// It has copied the source only if that was there, and found none only if somebody took it away.
		taken := func(other Command) bool { return other.removes(c.Path) }
		return c.Outcome != "not_found" || h.meanwhile(c, taken) > 0
	}
	return false
}

// mayRenameDirectory: where the source was empty, or the target taken, from the beginning, nothing was copied.
func (h History) mayRenameDirectory(c Command) bool {
	from, to := h.below(c.Path), h.around(c.To)
	if c.Moves == "directory" {
		return true
	}
	if !slices.ContainsFunc(from, func(path string) bool { return h.everThere(path, c) }) {
		return false
	}
	switch c.Outcome {
	case "not_found":
		return h.meanwhile(c, func(other Command) bool { return slices.ContainsFunc(from, other.removes) }) > 0
	case "already_exists":
		return h.meanwhile(c, func(other Command) bool { return slices.ContainsFunc(to, other.writes) }) > 0
	}
	return true
}

func (h History) renamesDirectory(c Command) bool {
	if c.Moves != "" {
		return c.Moves == "directory"
	}
	return !slices.Contains(h.Paths, c.Path)
}

func (c Command) changes() bool { return c.Outcome == "ok" || c.Outcome == "unknown" }

// meanwhile counts the other commands of this kind that overlap and may have had an effect.
func (h History) meanwhile(during Command, is func(Command) bool) int {
	found := 0
	for _, other := range h.Commands {
		if other.number != during.number && other.effective && other.overlaps(during) && is(other) {
			found++
		}
	}
	return found
}

// everThere tells whether anything may have been at the path before the command, or whoever finished it, ended.
func (h History) everThere(path string, before Command) bool {
	for _, other := range h.Commands {
		if other.effective && other.Call <= before.reach() && other.writes(path) {
			return true
		}
	}
	return false
}

// writes tells what the command may put a text at.
func (c Command) writes(path string) bool {
	switch c.Command {
	case "rename":
		return isWithin(path, c.To)
	case "create", "insert", "str_replace", "arrival":
		return c.Path == path
	}
	return false
}

// removes tells what the command may take away: a file, or a copy or file of its own.
func (c Command) removes(path string) bool {
	switch c.Command {
	case "rename":
		return isWithin(path, c.Path) || isWithin(path, c.To) && c.Outcome != "ok"
	case "delete":
		return isWithin(path, c.Path)
	case "create", "arrival":
		return c.Path == path && c.Outcome != "ok"
	case "loss", "repair":
		return c.Path == path
	}
	return false
}

func isWithin(path, directory string) bool {
	return path == directory || strings.HasPrefix(path, directory+"/")
}

func (h History) below(directory string) []string {
	var found []string
	for _, path := range h.Paths {
		if strings.HasPrefix(path, directory+"/") {
			found = append(found, path)
		}
	}
	return found
}

func (h History) above(path string) []string {
	var found []string
	for _, other := range h.Paths {
		if strings.HasPrefix(path, other+"/") {
			found = append(found, other)
		}
	}
	return found
}

// around are the path itself, and all above and below it.
func (h History) around(path string) []string {
	return append(slices.Concat(h.below(path), h.above(path)), path)
}

// byPath tells whether no command concerns more than one path, so that each path may be judged alone.
func (h History) byPath() bool {
	for _, c := range h.Commands {
		if c.Command == "rename" || len(h.below(c.Path))+len(h.above(c.Path)) > 0 {
			return false
		}
	}
	return true
}

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// listedLevels: what lies deeper is left out of a listing.
const listedLevels = 2

// nothingDone are the failures after which the tree is as it was, whatever it is.
var nothingDone = []string{"unavailable", "timeout", "aborted", "version_conflict"}

// operationsOf spreads the history out into steps, each at one instant. It fails on an answer that no tree explains.
func operationsOf(history History) ([]porcupine.Operation, error) {
	var operations []porcupine.Operation
	history.number()
	for _, command := range history.Commands {
		id := fmt.Sprintf("#%d", command.number)
		p := &plan{command: command, history: history, label: describe(id, command)}
		var err error
		switch command.Command {
		case "view":
			err = planView(p, history)
		case "create":
			err = planCreate(p, id, history)
		case "insert", "str_replace":
			err = planEdit(p)
		case "delete":
			err = planDelete(p, id, history)
		case "rename":
			err = planRename(p, id, history)
		case "arrival", "loss", "repair":
			planUnasked(p, id)
		default:
			err = fmt.Errorf("no such command")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.label, err)
		}
		operations = append(operations, p.operations...)
	}
	return operations, nil
}

func planView(p *plan, history History) error {
	c := p.command
	switch {
	case c.Outcome == "ok" && c.Shown != nil:
		p.look("reads it", func(s *state) bool { return s.at(c.Path, *c.Shown) })
		return nil
	case c.Outcome == "ok":
		return planListing(p, history)
	case c.Outcome == "not_found":
		for _, path := range append(history.below(c.Path), c.Path) {
			p.absent(path)
		}
		return nil
	case c.Outcome == "unknown":
		return nil
	}
	return failed(c)
}

// A listing is no snapshot: each of its rows is true at an instant of its own.
func planListing(p *plan, history History) error {
	c := p.command
	for path := range c.Listed {
		if !slices.Contains(history.Paths, path) {
			return fmt.Errorf("%s is listed, where nobody put a file", path)
		}
	}
	for _, path := range history.below(c.Path) {
		if strings.Count(strings.TrimPrefix(path, c.Path), "/") > listedLevels {
			continue
		}
		size, listed := c.Listed[path]
		if !listed {
			p.absent(path)
			continue
		}
		p.look(path+" as listed", func(s *state) bool {
			return s.has(path) && len(s.files[path]) == size
		})
	}
	return nil
}

func planEdit(p *plan) error {
	c := p.command
	switch c.Outcome {
	case "ok", "unknown":
		if !c.effective && !c.answered() {
			return nil
		}
		p.change("edits it", func(s *state) *state {
			if edited, can := edit(c, s); can {
				return s.with(c.Path, edited)
			}
			return nil
		})
		return nil
	case "not_found":
		p.absent(c.Path)
		return nil
	case "no_match":
		p.look("does not match", func(s *state) bool {
			_, can := edit(c, s)
			return s.has(c.Path) && !can
		})
		return nil
	}
	return failed(c)
}

// edit makes the text after the edit. All texts end in a line break, and lines are inserted at the start.
func edit(c Command, s *state) (string, bool) {
	text, exists := s.files[c.Path]
	if !exists {
		return "", false
	}
	if c.Command == "insert" {
		return c.Text + "\n" + text, true
	}
	return strings.Replace(text, c.Old, c.Text, 1), strings.Count(text, c.Old) == 1
}

// A delete of a directory takes each file away at an instant of its own, if it is there then.
func planDelete(p *plan, id string, history History) error {
	c := p.command
	below := history.below(c.Path)
	remove := func(path string) {
		p.change("deletes "+path, func(s *state) *state {
			if s.has(path) {
				return s.without(path)
			}
			return nil
		})
	}
	switch c.Outcome {
	case "ok":
		if len(below) == 0 {
			remove(c.Path)
			return nil
		}
		planDeleteOfEither(p, id, below)
		return nil
	case "not_found":
		for _, path := range append(below, c.Path) {
			p.absent(path)
		}
		return nil
	case "unknown":
		for _, path := range p.everThere(append(below, c.Path)) {
			remove(path)
		}
		return nil
	}
	return failed(c)
}

// What was there decides whether a file was deleted or a directory.
func planDeleteOfEither(p *plan, id string, below []string) {
	path := p.command.Path
	p.add("looks at it", func(s *state) []*state {
		if s.has(path) {
			return []*state{s.without(path).entering(id, stage{phase: "file"})}
		}
		return []*state{s.entering(id, stage{phase: "directory"})}
	})
	p.add("lists what is below", func(s *state) []*state {
		at := s.stages[id]
		if at.phase == "file" {
			return []*state{s.leaving(id).entering(id, stage{phase: "over"})}
		}
		if at.phase == "directory" && slices.ContainsFunc(below, s.has) {
			return []*state{s.entering(id, stage{phase: "listed"})}
		}
		return nil
	})
	for _, file := range below {
		p.add("deletes "+file, func(s *state) []*state {
			at := s.stages[id]
			if at.phase != "listed" && at.phase != "over" {
				return nil
			}
			next := s
			if at.phase == "listed" && s.has(file) {
				next = s.without(file)
			}
			at.rounds++
			if at.rounds == len(below) {
				return []*state{next.leaving(id)}
			}
			return []*state{next.entering(id, at)}
		})
	}
}

func failed(c Command) error {
	if slices.Contains(nothingDone, c.Outcome) {
		return nil
	}
	return fmt.Errorf("nothing accounts for this answer")
}

func describe(id string, c Command) string {
	words := []string{id, c.Command, c.Path}
	for _, word := range []string{c.To, c.Old, c.Text} {
		if word != "" {
			words = append(words, strings.TrimSpace(word))
		}
	}
	words = append(words, "->", c.Outcome)
	if c.Reason != "" {
		words = append(words, "("+c.Reason+")")
	}
	if c.Shown != nil {
		words = append(words, fmt.Sprintf("%q", *c.Shown))
	}
	if c.Listed != nil {
		words = append(words, fmt.Sprintf("%v", c.Listed))
	}
	return strings.Join(words, " ")
}

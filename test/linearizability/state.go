package main

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
)

// stage is how far a command has come that takes several instants.
type stage struct {
	phase string
	// Whether it has written, or read, a text, and which.
	written bool
	text    string
	// A newer text, read but not written.
	newer string
	// Steps of the kind that may be taken several times.
	rounds int
	// The step is behind it in which a create may land a second time.
	again bool
}

// state is the tree, and the commands between their first and their last step. It is never changed, only copied.
type state struct {
	files  map[string]string
	stages map[string]stage
	// Renames of directories under way.
	renames []directoryRename
	key     string
	hash    uint64
}

func newState(files map[string]string, stages map[string]stage, renames []directoryRename) *state {
	var key strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&key, "%s=%q ", path, files[path])
	}
	key.WriteByte('|')
	for _, name := range slices.Sorted(maps.Keys(stages)) {
		each := stages[name]
		fmt.Fprintf(&key, " %s:%v", name, each)
	}
	for _, rename := range renames {
		fmt.Fprintf(&key, " %s", rename.id)
	}
	hash := fnv.New64a()
	hash.Write([]byte(key.String()))
	return &state{files: files, stages: stages, renames: renames, key: key.String(), hash: hash.Sum64()}
}

func (s *state) has(path string) bool {
	_, found := s.files[path]
	return found
}

// at tells whether the path holds exactly this text.
func (s *state) at(path, text string) bool {
	found, exists := s.files[path]
	return exists && found == text
}

func (s *state) with(path, text string) *state {
	files := maps.Clone(s.files)
	files[path] = text
	return newState(files, s.stages, s.renames)
}

func (s *state) without(path string) *state {
	files := maps.Clone(s.files)
	delete(files, path)
	return newState(files, s.stages, s.renames)
}

func (s *state) entering(name string, next stage) *state {
	stages := maps.Clone(s.stages)
	stages[name] = next
	return newState(s.files, stages, s.renames)
}

// leaving forgets a command that has taken its last step.
func (s *state) leaving(name string) *state {
	stages := maps.Clone(s.stages)
	delete(stages, name)
	return newState(s.files, stages, s.renames)
}

func (s *state) isRenaming(id string) bool {
	return slices.ContainsFunc(s.renames, func(rename directoryRename) bool { return rename.id == id })
}

func (s *state) renaming(rename directoryRename) *state {
	renames := append(slices.Clone(s.renames), rename)
	slices.SortFunc(renames, func(one, other directoryRename) int { return strings.Compare(one.id, other.id) })
	return newState(s.files, s.stages, renames)
}

func (s *state) renamed(id string) *state {
	others := slices.DeleteFunc(slices.Clone(s.renames), func(rename directoryRename) bool { return rename.id == id })
	return newState(s.files, s.stages, others)
}

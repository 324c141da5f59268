package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// step is what a command does at one instant. It answers with every state that may follow; with none it is impossible
// in this state.
type step struct {
	label string
	// The path it is about, where a history is judged path by path.
	path string
	take func(*state) []*state
}

// plan collects the steps of one command.
type plan struct {
	command    Command
	history    History
	label      string
	operations []porcupine.Operation
}

func (p *plan) add(what string, take func(*state) []*state) {
	p.operations = append(p.operations, porcupine.Operation{
		ClientId: p.command.Client,
		Input:    step{label: p.label + ": " + what, path: p.command.Path, take: take},
		Call:     p.command.Call,
		Return:   p.command.last(),
	})
}

// instant is a step that is taken at the call.
func (p *plan) instant(what string, take func(*state) []*state) {
	p.add(what, take)
	p.operations[len(p.operations)-1].Return = p.command.Call
}

// look is a step that changes nothing.
func (p *plan) look(what string, holds func(*state) bool) {
	p.add(what, func(s *state) []*state {
		if holds(s) {
			return []*state{s}
		}
		return nil
	})
}

func (p *plan) present(path string) {
	p.look(path+" is there", func(s *state) bool { return s.has(path) })
}

// absent leaves out what is true without looking.
func (p *plan) absent(path string) {
	if !p.history.everThere(path, p.command) {
		return
	}
	p.look(path+" is not there", func(s *state) bool { return !s.has(path) })
}

func (p *plan) everThere(paths []string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return !p.history.everThere(path, p.command) })
}

// change is a single step that changes the tree. Without an answer it may never have been carried out.
func (p *plan) change(what string, make func(*state) *state) {
	p.add(what, func(s *state) []*state {
		var after []*state
		if !p.command.answered() {
			after = append(after, s)
		}
		if next := make(s); next != nil {
			after = append(after, next)
		}
		return after
	})
}

// possible are the states that the tree and the commands under way may be in, ordered, each once. Porcupine's own way from a
// nondeterministic model to a model compares each state with each other one.
type possible struct {
	states []*state
	hash   uint64
}

func treeModel() porcupine.Model {
	known := closures{}
	return porcupine.Model{
		Init: func() interface{} {
			return newPossible(map[string]*state{"": newState(map[string]string{}, map[string]stage{}, nil)})
		},
		Step: func(before, input, _ interface{}) (bool, interface{}) {
			after := map[string]*state{}
			for _, one := range before.(*possible).states {
				for _, reached := range known.of(one) {
					for _, next := range input.(step).take(reached) {
						after[next.key] = next
					}
				}
			}
			return len(after) > 0, newPossible(after)
		},
		Equal: func(one, other interface{}) bool {
			left, right := one.(*possible), other.(*possible)
			return left.hash == right.hash && slices.EqualFunc(left.states, right.states, func(one, other *state) bool {
				return one.key == other.key
			})
		},
		Hash:              func(each interface{}) uint64 { return each.(*possible).hash },
		DescribeOperation: func(input, _ interface{}) string { return input.(step).label },
		DescribeState: func(each interface{}) string {
			var texts []string
			for _, one := range each.(*possible).states {
				texts = append(texts, one.key)
			}
			return strings.Join(texts, " or ")
		},
	}
}

func newPossible(found map[string]*state) *possible {
	made := &possible{}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		made.states = append(made.states, found[key])
		made.hash = made.hash*31 + found[key].hash
	}
	return made
}

func partitionByPath(operations []porcupine.Operation) [][]porcupine.Operation {
	byPath := map[string][]porcupine.Operation{}
	for _, operation := range operations {
		path := operation.Input.(step).path
		byPath[path] = append(byPath[path], operation)
	}
	var parts [][]porcupine.Operation
	for _, part := range byPath {
		parts = append(parts, part)
	}
	return parts
}

package main

import "slices"

// A create publishes its file and looks then whether it clashes with a directory of its name or a file above it. One
// that is refused takes its file back, which others may have seen meanwhile.
func planCreate(p *plan, id string, history History) error {
	c := p.command
	below, above := history.below(c.Path), history.above(c.Path)
	clashing := p.everThere(slices.Concat(below, above))
	again := mayLandAgain(history, c, c.Path)
	switch {
	case c.Outcome == "ok" && len(clashing) == 0 && !again:
		p.change("creates it", func(s *state) *state { return created(s, c) })
	case c.Outcome == "ok":
		planVerified(p, id, clashing, again)
	case c.Outcome == "already_exists" && c.Reason != "below_file":
		p.present(c.Path)
	case c.Outcome == "already_exists":
		planRefused(p, id, above, again)
	case c.Outcome == "is_directory":
		planRefused(p, id, below, again)
	case c.Outcome == "unknown":
		planRefused(p, id, nil, again)
	default:
		planRefused(p, id, nil, again)
		return failed(c)
	}
	return nil
}

// mayLandAgain: a create whose answer was lost is sent again. Where the file was removed in between it is created twice,
// which no condition can prevent (docs/protocols.md, "A create that is executed twice").
func mayLandAgain(history History, c Command, path string) bool {
	return history.Resends && history.meanwhile(c, func(other Command) bool { return other.removes(path) }) > 0
}

// planAgain adds that second time.
func planAgain(p *plan, id, path string) {
	p.add("may land again", func(s *state) []*state {
		at, begun := s.stages[id]
		if !begun || at.again {
			return nil
		}
		at.again = true
		after := []*state{s.entering(id, at)}
		if at.written && !s.has(path) {
			after = append(after, s.with(path, at.text).entering(id, at))
		}
		return after
	})
}

func created(s *state, c Command) *state {
	if s.has(c.Path) {
		return nil
	}
	return s.with(c.Path, c.Text)
}

// After the publication each path that clashes is seen to be empty, at an instant of its own, or somebody has built on
// the file already.
func planVerified(p *plan, id string, clashing []string, again bool) {
	c := p.command
	p.add("creates it", func(s *state) []*state {
		if next := created(s, c); next != nil {
			return []*state{next.entering(id, stage{written: true, text: c.Text})}
		}
		return nil
	})
	if again {
		planAgain(p, id, c.Path)
	}
	all := 1<<len(clashing) - 1
	for i, path := range clashing {
		p.add("sees nothing at "+path, func(s *state) []*state {
			at, published := s.stages[id]
			if !published || s.has(path) && s.at(c.Path, c.Text) {
				return nil
			}
			at.rounds |= 1 << i
			if at.rounds == all && at.again == again {
				return []*state{s.leaving(id)}
			}
			return []*state{s.entering(id, at)}
		})
	}
}

// planRefused: perhaps published, then seen that one of `causes` is there, then taken back. Without causes it failed
// for a reason outside of the tree, or nobody knows whether it did.
func planRefused(p *plan, id string, causes []string, again bool) {
	c := p.command
	p.add("may create it", func(s *state) []*state {
		after := []*state{s.entering(id, stage{})}
		if next := created(s, c); next != nil {
			after = append(after, next.entering(id, stage{written: true, text: c.Text}))
		}
		return after
	})
	if again {
		planAgain(p, id, c.Path)
	}
	if causes != nil {
		p.add("meets a clash", func(s *state) []*state {
			at, begun := s.stages[id]
			if !begun || !slices.ContainsFunc(causes, s.has) {
				return nil
			}
			at.rounds = 1
			return []*state{s.entering(id, at)}
		})
	}
	p.add("takes it back", func(s *state) []*state {
		at, begun := s.stages[id]
		if !begun || at.again != again || causes != nil && at.rounds == 0 {
			return nil
		}
		after := takenBack(s.leaving(id), at.written, c.Path, c.Text)
		if !c.answered() {
			after = append(after, s.leaving(id))
		}
		return after
	})
}

// takenBack: what was written is removed, unless somebody has removed it already. What somebody has built on stays, and
// then the answer is another one.
func takenBack(s *state, written bool, path, text string) []*state {
	switch {
	case !written || !s.has(path):
		return []*state{s}
	case s.at(path, text):
		return []*state{s.without(path)}
	}
	return nil
}

package main

import "slices"

// A rename of a file reads the source at one instant, puts what it read at the target, where nothing may be, at a later
// one, and deletes the source at a third. In between readers may see it at both places, and at the target a text that is
// older than the source's. A source that holds another text than the copy is not deleted: it is read again and put over
// the copy, unless somebody has changed that.
//
// A rename that fails takes its copy back; what somebody has built on stays. Without an answer it may have come to any
// of these ends, or to none.
type rename struct {
	*plan
	id       string
	from, to string
	// How often the source may have been written meanwhile, and so be read and copied again.
	renewals int
	// Whether somebody may have changed the source at all: otherwise reading and copying it are one step.
	stale bool
	again bool
}

func planRename(p *plan, id string, history History) error {
	c := p.command
	if c.Moves == "nothing" {
		return planIdleRename(p, history)
	}
	if history.renamesDirectory(c) {
		return planDirectoryRename(p, id, history)
	}
	r := rename{plan: p, id: id, from: c.Path, to: c.To}
	r.renewals = history.meanwhile(c, func(other Command) bool { return other.writes(r.from) })
	r.stale = r.renewals+history.meanwhile(c, func(other Command) bool { return other.removes(r.from) }) > 0
	r.again = mayLandAgain(history, c, r.to)
	switch {
	case c.Outcome == "ok":
		r.copies(true)
		r.end("deletes the source", func(s *state, at stage) []*state {
			if s.at(r.from, at.text) {
				return []*state{s.without(r.from)}
			}
			return nil
		})
	case c.Outcome == "not_found" && !c.effective:
		p.absent(r.from)
	case c.Outcome == "not_found":
		r.copies(false)
		r.end("finds no source", func(s *state, at stage) []*state {
			if s.has(r.from) {
				return nil
			}
			return []*state{s.entering(id, stage{phase: "gone", written: at.written, text: at.text})}
		})
		p.add("takes the copy back", func(s *state) []*state {
			at := s.stages[id]
			if at.phase != "gone" {
				return nil
			}
			return takenBack(s.leaving(id), at.written, r.to, at.text)
		})
	case c.Outcome == "already_exists" || c.Outcome == "is_directory":
		p.present(r.from)
		p.look("finds the target taken", taken(c, history))
		if c.effective {
			r.copies(false)
			r.end("takes the copy back", func(s *state, at stage) []*state {
				return takenBack(s, at.written, r.to, at.text)
			})
		}
	case c.Outcome == "version_conflict" && c.Reason == "both_kept":
		r.copies(true)
		r.end("keeps both", func(s *state, _ stage) []*state { return []*state{s} })
	case c.Outcome == "unknown" && !c.effective:
	case c.Outcome == "unknown":
		r.copies(false)
		r.end("ends somehow", r.anyhow)
	default:
		if !c.effective {
			return failed(c)
		}
		r.copies(false)
		r.end("takes the copy back", func(s *state, at stage) []*state {
			return takenBack(s, at.written, r.to, at.text)
		})
		return failed(c)
	}
	return nil
}

// planIdleRename: a rename that has changed nothing, of a file or of a directory, has found what its answer says.
func planIdleRename(p *plan, history History) error {
	c := p.command
	from := append(history.below(c.Path), c.Path)
	source := func(s *state) bool { return slices.ContainsFunc(from, s.has) }
	switch c.Outcome {
	case "not_found":
		for _, path := range from {
			p.absent(path)
		}
		return nil
	case "already_exists", "is_directory":
		p.look("finds a source", source)
		if c.Path != c.To {
			p.look("finds the target taken", taken(c, history))
		}
		return nil
	case "invalid_command":
		p.look("finds a source", source)
		return nil
	}
	return failed(c)
}

// taken tells whether a file lies at the target or below it, or above it, whichever the answer says.
func taken(c Command, history History) func(*state) bool {
	to := append(history.below(c.To), c.To)
	if c.Reason == "below_file" {
		to = history.above(c.To)
	}
	return func(s *state) bool { return slices.ContainsFunc(to, s.has) }
}

// copies adds the steps up to the last copy, of which an answer other than success may leave out the rest at any place.
func (r rename) copies(must bool) {
	if r.stale {
		r.add("reads the source", func(s *state) []*state {
			after := r.skipping(s, must)
			if text, exists := s.files[r.from]; exists {
				after = append(after, s.entering(r.id, stage{phase: "read", text: text}))
			}
			return after
		})
	}
	r.add("copies", func(s *state) []*state {
		at, begun := s.stages[r.id]
		if begun != r.stale {
			return nil
		}
		after := r.skipping(s, must)
		text, exists := s.files[r.from]
		if r.stale {
			text, exists = at.text, at.phase == "read"
		}
		if exists && !s.has(r.to) {
			after = append(after, s.with(r.to, text).entering(r.id, stage{phase: "copied", written: true, text: text}))
		}
		return after
	})
	if r.again {
		planAgain(r.plan, r.id, r.to)
	}
	for round := range r.renewals {
		r.add("may read the source again", func(s *state) []*state { return r.readAgain(s, round) })
		r.add("may renew the copy", func(s *state) []*state { return r.renew(s, round) })
	}
}

func (r rename) skipping(s *state, must bool) []*state {
	if must {
		return nil
	}
	return []*state{s.entering(r.id, stage{phase: "copied"})}
}

func (r rename) readAgain(s *state, round int) []*state {
	at := s.stages[r.id]
	if at.phase != "copied" || at.rounds != round {
		return nil
	}
	at.phase = "read again"
	after := []*state{s.entering(r.id, at)}
	if newer, exists := s.files[r.from]; exists && at.written && newer != at.text {
		at.newer = newer
		after = append(after, s.entering(r.id, at))
	}
	return after
}

func (r rename) renew(s *state, round int) []*state {
	at := s.stages[r.id]
	if at.phase != "read again" || at.rounds != round {
		return nil
	}
	newer := at.newer
	at.phase, at.newer, at.rounds = "copied", "", round+1
	after := []*state{s.entering(r.id, at)}
	if newer != "" && s.at(r.to, at.text) {
		at.text = newer
		after = append(after, s.with(r.to, newer).entering(r.id, at))
	}
	return after
}

// end adds the last step, which is taken from a copy, or from none where that was allowed.
func (r rename) end(what string, take func(*state, stage) []*state) {
	r.add(what, func(s *state) []*state {
		at := s.stages[r.id]
		if at.phase != "copied" || at.rounds != r.renewals || at.again != r.again {
			return nil
		}
		return take(s.leaving(r.id), at)
	})
}

func (r rename) anyhow(s *state, at stage) []*state {
	after := []*state{s}
	if at.written && s.at(r.from, at.text) {
		after = append(after, s.without(r.from))
	}
	if at.written && s.at(r.to, at.text) {
		after = append(after, s.without(r.to))
	}
	return after
}

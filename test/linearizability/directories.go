package main

import (
	"slices"
	"strings"
)

// The rename of a directory is spread out over its files, and may be brought to its end by any process. Between its
// beginning and its end each file goes its own way by silent moves, as often as it likes: read, copied, copied again
// where it has changed, deleted at the source. It goes forward as a whole or back as a whole: back, all copies are
// removed that nobody has built on. Where a source is gone its copy may go, too, or stay: whoever took a rename over
// cannot know who removed it.
type directoryRename struct {
	id       string
	from, to string
	// Paths below the directory, for files that may ever be there.
	files []string
}

func (d directoryRename) stageOf(file string) string { return d.id + " " + file }

// What a file of the rename may have come to; the first three are no ends.
const (
	dirIdle    = "idle"
	dirRead    = "read"
	dirCopied  = "copied"
	dirMoved   = "moved"
	dirMissed  = "missed"
	dirUndone  = "undone"
	dirKept    = "kept"
	dirForward = "forward"
	dirBack    = "back"
)

// planDirectoryRename adds the beginning and, for an answer, the end at which every file must have come to one that fits.
func planDirectoryRename(p *plan, id string, history History) error {
	c := p.command
	d := directoryRename{id: id, from: c.Path, to: c.To}
	for _, file := range p.everThere(history.below(c.Path)) {
		d.files = append(d.files, strings.TrimPrefix(file, c.Path))
	}
	var ends []string
	switch {
	case c.Outcome == "unknown" && !c.effective:
		return nil
	case c.Outcome == "not_found" && !c.effective:
		for _, file := range history.below(c.Path) {
			p.absent(file)
		}
		return nil
	case c.Outcome == "already_exists" && !c.effective:
		p.add("finds a file", func(s *state) []*state { return d.ifAny(s, history.below(d.from)) })
		p.add("finds the target taken", func(s *state) []*state { return d.ifAny(s, history.around(d.to)) })
		return nil
	case c.Outcome == "unknown":
	case c.Outcome == "ok":
		ends = []string{dirMoved, dirMissed}
		p.add("finds a file", func(s *state) []*state { return d.ifAny(s, history.below(d.from)) })
	case c.Outcome == "version_conflict" && c.Reason == "both_kept":
		ends = []string{dirIdle, dirMoved, dirMissed, dirUndone, dirKept}
	case c.Outcome == "already_exists":
		ends = []string{dirIdle, dirMissed, dirUndone}
		p.add("finds the target taken", func(s *state) []*state { return d.ifAny(s, history.around(d.to)) })
	case c.Outcome == "not_found":
		ends = []string{dirMissed, dirUndone}
	default:
		ends = []string{dirIdle, dirMissed, dirUndone}
	}
	p.add("begins", func(s *state) []*state {
		begun := s.renaming(d)
		for _, file := range d.files {
			begun = begun.entering(d.stageOf(file), stage{phase: dirIdle})
		}
		return []*state{begun}
	})
	if c.Outcome == "unknown" {
		return nil
	}
	p.add("ends", func(s *state) []*state {
		if !s.isRenaming(id) {
			return nil
		}
		over := s.renamed(id)
		for _, file := range d.files {
			at := s.stages[d.stageOf(file)]
			if !slices.Contains(ends, at.phase) {
				return nil
			}
			over = over.leaving(d.stageOf(file))
		}
		return []*state{over.leaving(id + " goes")}
	})
	if c.Outcome == "already_exists" || c.Outcome == "not_found" || p.command.changes() {
		return nil
	}
	return failed(c)
}

func (d directoryRename) ifAny(s *state, paths []string) []*state {
	if slices.ContainsFunc(paths, s.has) {
		return []*state{s}
	}
	return nil
}

// moves are the states that one silent move leads to.
func (d directoryRename) moves(s *state) []*state {
	var after []*state
	goes := s.stages[d.id+" goes"].phase
	for _, file := range d.files {
		from, to, name := d.from+file, d.to+file, d.stageOf(file)
		at := s.stages[name]
		enter := func(next *state, at stage) { after = append(after, next.entering(name, at)) }
		going := func(next *state, way string) *state {
			return next.entering(d.id+" goes", stage{phase: way})
		}
		source, exists := s.files[from]
		switch at.phase {
		case dirIdle, dirMoved, dirMissed:
			if exists && goes != dirBack {
				enter(s, stage{phase: dirRead, text: source})
			}
			if !exists && at.phase == dirIdle {
				enter(s, stage{phase: dirMissed})
			}
		case dirRead:
			if !s.has(to) {
				enter(s.with(to, at.text), stage{phase: dirCopied, text: at.text})
			} else {
				enter(s, stage{phase: dirKept})
			}
		case dirCopied:
			d.movesOfCopy(s, at, file, enter, going, goes)
		}
	}
	return after
}

func (d directoryRename) movesOfCopy(
	s *state, at stage, file string, enter func(*state, stage), going func(*state, string) *state, goes string,
) {
	from, to := d.from+file, d.to+file
	source, exists := s.files[from]
	isOurs := s.at(to, at.text)
	if exists && source == at.text && goes != dirBack {
		enter(going(s.without(from), dirForward), stage{phase: dirMoved})
	}
	if at.newer != "" && isOurs {
		enter(s.with(to, at.newer), stage{phase: dirCopied, text: at.newer})
	}
	if exists && source != at.text && at.newer != source {
		enter(s, stage{phase: dirCopied, text: at.text, newer: source})
	}
	if !s.has(to) {
		enter(s, stage{phase: dirIdle})
	}
	if !exists {
		enter(s, stage{phase: dirMissed})
		if isOurs {
			enter(s.without(to), stage{phase: dirMissed})
		}
	}
	if source != at.text && !isOurs {
		enter(s, stage{phase: dirKept})
	}
	if goes == dirForward {
		return
	}
	back := going(s, dirBack)
	if isOurs {
		enter(back.without(to), stage{phase: dirUndone})
	} else {
		enter(back, stage{phase: dirUndone})
	}
}

// closures remembers what silent moves lead to.
type closures map[string][]*state

// of is the state itself, and all that silent moves lead to from it.
func (c closures) of(first *state) []*state {
	if len(first.renames) == 0 {
		return []*state{first}
	}
	if known, found := c[first.key]; found {
		return known
	}
	found := []*state{first}
	met := map[string]bool{first.key: true}
	for next := 0; next < len(found); next++ {
		for _, rename := range found[next].renames {
			for _, after := range rename.moves(found[next]) {
				if !met[after.key] {
					met[after.key] = true
					found = append(found, after)
				}
			}
		}
	}
	c[first.key] = found
	return found
}

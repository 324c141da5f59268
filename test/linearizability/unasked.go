package main

// planUnasked: what happens at one instant, if at all, on behalf of no command. A request that was given up, or sent
// again, creates a file late, or deletes one: an operator's repair removes one of two files with the same text.
func planUnasked(p *plan, id string) {
	c := p.command
	switch c.Command {
	case "arrival":
		p.instant("may arrive", func(s *state) []*state {
			if next := created(s, c); next != nil {
				return []*state{s, next.entering(id, stage{written: true, text: c.Text})}
			}
			return []*state{s}
		})
		// A copy of a rename goes with the rename that is taken back.
		p.add("may be taken back", func(s *state) []*state {
			after := []*state{s.leaving(id)}
			if s.stages[id].written && c.last() > c.End && s.at(c.Path, c.Text) {
				after = append(after, s.leaving(id).without(c.Path))
			}
			return after
		})
	case "loss":
		p.change("loses it", func(s *state) *state { return s.without(c.Path) })
	case "repair":
		p.change("removes one of two", func(s *state) *state {
			for path, text := range s.files {
				if path != c.Path && s.at(c.Path, text) {
					return s.without(c.Path)
				}
			}
			return nil
		})
	}
}

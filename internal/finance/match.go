package finance

// pairing says how one pass pairs postings with bank lines.
type pairing[K comparable] struct {
	// entryKey and lineKey sort the rows into buckets, so that an entry is compared only with the lines
	// that can fit. Rows for which they say no are left alone.
	entryKey func(posting) (K, bool)
	lineKey  func(booking) (K, bool)
	// rank says how well two rows fit: lower is better, negative is not at all.
	rank func(posting, booking) int
	// found receives each pair.
	found func(Entry, Line)
}

// pair looks for the best line for each unexplained entry and removes both where there is one.
func pair[K comparable](m *matcher, p pairing[K]) {
	buckets := make(map[K][]int)
	for i, l := range m.lines {
		if key, ok := p.lineKey(l); ok {
			buckets[key] = append(buckets[key], i)
		}
	}
	used := make([]bool, len(m.lines))
	m.take(func(e posting) bool {
		key, ok := p.entryKey(e)
		if !ok {
			return false
		}
		best, bestRank := -1, 0
		for _, i := range buckets[key] {
			if used[i] {
				continue
			}
			if r := p.rank(e, m.lines[i]); r >= 0 && (best < 0 || r < bestRank) {
				best, bestRank = i, r
			}
		}
		if best < 0 {
			return false
		}
		used[best] = true
		p.found(e.Entry, m.lines[best].Line)
		return true
	})
	left := m.lines[:0]
	for i, l := range m.lines {
		if !used[i] {
			left = append(left, l)
		}
	}
	m.lines = left
}

func (m *matcher) matched(how string) func(Entry, Line) {
	return func(e Entry, l Line) {
		m.report.Matches = append(m.report.Matches, Match{Entry: e, Line: l, How: how})
	}
}

func (m *matcher) differs(e Entry, l Line) {
	m.report.Differences = append(m.report.Differences, Difference{Entry: e, Line: l, Transposed: Transposed(e.Amount, l.Amount)})
}

func nearest(e posting, l booking) int { return daysApart(e.Date, l.Date) }

func (m *matcher) pairByReference() {
	type key struct {
		reference string
		amount    Cents
	}
	pair(m, pairing[key]{
		entryKey: func(e posting) (key, bool) { return key{e.reference, e.Amount}, e.reference != "" },
		lineKey:  func(l booking) (key, bool) { return key{l.reference, l.Amount}, l.reference != "" },
		rank:     nearest,
		found:    m.matched(ByReference),
	})
}

// pairByDate pairs equal amounts. Two references that differ speak against it, unless the counterparty is
// the same: then the payer got the reference wrong.
func (m *matcher) pairByDate() {
	pair(m, pairing[Cents]{
		entryKey: func(e posting) (Cents, bool) { return e.Amount, true },
		lineKey:  func(l booking) (Cents, bool) { return l.Amount, true },
		rank: func(e posting, l booking) int {
			days, same := nearest(e, l), e.counterparty == l.counterparty
			switch {
			case days > m.o.Window, !same && e.reference != "" && l.reference != "":
				return -1
			case same:
				return days
			}
			return days + m.o.Window + 1 // every line of the same counterparty comes first
		},
		found: m.matched(ByDate),
	})
}

func (m *matcher) pairByDifferentAmount() {
	pair(m, pairing[string]{
		entryKey: func(e posting) (string, bool) { return e.reference, e.reference != "" },
		lineKey:  func(l booking) (string, bool) { return l.reference, l.reference != "" },
		rank:     nearest,
		found:    m.differs,
	})
	pair(m, pairing[string]{
		entryKey: func(e posting) (string, bool) { return e.counterparty, true },
		lineKey:  func(l booking) (string, bool) { return l.counterparty, true },
		rank: func(e posting, l booking) int {
			if days := nearest(e, l); days <= m.o.Window && Transposed(e.Amount, l.Amount) {
				return days
			}
			return -1
		},
		found: m.differs,
	})
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"cmp"
	"slices"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Node is one Delegation in its conversation.
type Node struct {
	// Name is there also where the Delegation is not.
	Name       string
	Delegation *v1alpha1.Delegation
	// Relation to the node above: continues or refines; empty at the top.
	Relation string
	// Also are the other Delegations that it refines.
	Also []string
	// Children follow this one, the oldest first.
	Children []*Node
	// Above says that the Delegation is in the tree already.
	Above bool
}

// Conversation returns the whole conversation that a Delegation is part of, from where it began. All are those of one
// namespace. It is nil where none has that name.
func Conversation(all []v1alpha1.Delegation, name string) *Node {
	t := tree{byName: map[string]*v1alpha1.Delegation{}, followers: map[string][]*v1alpha1.Delegation{}, placed: map[string]bool{}}
	for i := range all {
		d := &all[i]
		t.byName[d.Name] = d
		for _, target := range targets(d) {
			t.followers[target] = append(t.followers[target], d)
		}
	}
	if t.byName[name] == nil {
		return nil
	}
	for _, list := range t.followers {
		slices.SortStableFunc(list, func(a, b *v1alpha1.Delegation) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
	}
	return t.node(t.top(name), "", "")
}

// targets are the Delegations that one follows.
func targets(d *v1alpha1.Delegation) []string {
	if d.Spec.Continues != nil {
		return []string{d.Spec.Continues.Name}
	}
	var names []string
	for _, r := range d.Spec.Refines {
		names = append(names, r.Name)
	}
	return names
}

type tree struct {
	byName    map[string]*v1alpha1.Delegation
	followers map[string][]*v1alpha1.Delegation
	placed    map[string]bool
}

// top climbs to where the conversation began. Delegations may name each other in a circle, which the operator refuses to
// send; then it is as good as any.
func (t *tree) top(name string) string {
	for seen := map[string]bool{}; ; {
		seen[name] = true
		d := t.byName[name]
		if d == nil || len(targets(d)) == 0 || seen[targets(d)[0]] {
			return name
		}
		name = targets(d)[0]
	}
}

func (t *tree) node(name, relation, parent string) *Node {
	n := &Node{Name: name, Delegation: t.byName[name], Relation: relation}
	if t.placed[name] {
		n.Above = true
		return n
	}
	t.placed[name] = true
	if n.Delegation != nil && relation != "" {
		for _, target := range targets(n.Delegation) {
			if target != parent {
				n.Also = append(n.Also, target)
			}
		}
	}
	for _, f := range t.followers[name] {
		relation := "refines"
		if f.Spec.Continues != nil {
			relation = "continues"
		}
		n.Children = append(n.Children, t.node(f.Name, relation, name))
	}
	return n
}

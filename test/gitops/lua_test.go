// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

const customizations = "resource.customizations."

// argoSettings is the ConfigMap that people give Argo CD.
func argoSettings(t *testing.T) map[string]string {
	t.Helper()
	cm := &corev1.ConfigMap{}
	readYAML(t, filepath.Join("config", "gitops", "argocd", "argocd-cm.yaml"), cm)
	return cm.Data
}

// readYAML reads a file of the repository.
func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(t), path))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// health is what a health script returns.
type health struct{ Status, Message string }

// argoHealth runs a kind's health script as Argo CD does.
func argoHealth(t *testing.T, kind string, o client.Object) health {
	t.Helper()
	script := argoSettings(t)[customizations+"health.a2a.delegation.dev_"+kind]
	if script == "" {
		t.Fatalf("no health script for %s", kind)
	}
	table := runLua(t, script, o)
	return health{Status: lua.LVAsString(table.RawGetString("status")), Message: lua.LVAsString(table.RawGetString("message"))}
}

// argoActions are the scripts of the actions of a Delegation.
type argoActions struct {
	Discovery   string `json:"discovery.lua"`
	Definitions []struct {
		Name   string `json:"name"`
		Action string `json:"action.lua"`
	} `json:"definitions"`
}

func readActions(t *testing.T) argoActions {
	t.Helper()
	var actions argoActions
	text := argoSettings(t)[customizations+"actions.a2a.delegation.dev_Delegation"]
	if err := yaml.UnmarshalStrict([]byte(text), &actions); err != nil {
		t.Fatal(err)
	}
	return actions
}

// enabled returns the actions that Argo CD offers for an object, by name.
func (a argoActions) enabled(t *testing.T, o client.Object) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	runLua(t, a.Discovery, o).ForEach(func(name, about lua.LValue) {
		table, ok := about.(*lua.LTable)
		out[lua.LVAsString(name)] = !ok || !lua.LVAsBool(table.RawGetString("disabled"))
	})
	return out
}

// patch runs an action and returns the spec as the script leaves it.
func (a argoActions) patch(t *testing.T, name string, o client.Object) map[string]any {
	t.Helper()
	for _, d := range a.Definitions {
		if d.Name == name {
			spec, ok := fromLua(runLua(t, d.Action, o).RawGetString("spec")).(map[string]any)
			if !ok {
				t.Fatalf("action %s returned no spec", name)
			}
			return spec
		}
	}
	t.Fatalf("no action %s", name)
	return nil
}

// runLua runs a script over an object with the libraries that Argo CD lets a custom script have.
func runLua(t *testing.T, script string, o client.Object) *lua.LTable {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	l.SetGlobal("obj", toLua(l, content))
	if err := l.DoString(script); err != nil {
		t.Fatal(err)
	}
	table, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returned %s", l.Get(-1).Type())
	}
	return table
}

func toLua(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case nil:
		return lua.LNil
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		table := l.NewTable()
		for _, item := range v {
			table.Append(toLua(l, item))
		}
		return table
	case map[string]any:
		table := l.NewTable()
		for key, item := range v {
			table.RawSetString(key, toLua(l, item))
		}
		return table
	}
	panic(fmt.Sprintf("no Lua for %T", value))
}

// fromLua is the JSON value of a Lua value: a table with a first element is a list.
func fromLua(value lua.LValue) any {
	table, ok := value.(*lua.LTable)
	if !ok {
		switch v := value.(type) {
		case lua.LBool:
			return bool(v)
		case lua.LNumber:
			return float64(v)
		case lua.LString:
			return string(v)
		}
		return nil
	}
	if table.Len() > 0 {
		list := make([]any, 0, table.Len())
		for i := 1; i <= table.Len(); i++ {
			list = append(list, fromLua(table.RawGetInt(i)))
		}
		return list
	}
	object := map[string]any{}
	table.ForEach(func(key, item lua.LValue) { object[lua.LVAsString(key)] = fromLua(item) })
	return object
}

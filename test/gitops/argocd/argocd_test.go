package argocd

import (
	"testing"

	"github.com/argoproj/argo-cd/v3/util/lua"
)

func TestX(t *testing.T) { _ = lua.VM{} }

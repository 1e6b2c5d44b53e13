// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager runs the delegation operator.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// gcPercent is GOGC where the environment does not say it: what a manager holds are objects, nearly all of them at rest, and
// twice the collections cost less than twice their memory.
const gcPercent = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	o := &options{}
	o.bind(flag.CommandLine)
	logging := zap.Options{}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	log := zap.New(zap.UseFlagOptions(&logging))
	ctrl.SetLogger(log)
	klog.SetLogger(log) // client-go's lines too
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run(o *options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	mgr, err := newManager(config, o)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

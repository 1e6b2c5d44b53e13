// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command localcluster is a Kubernetes control plane in one binary. The name
// it is called by decides what it is: etcd, kube-apiserver,
// kube-controller-manager or kubectl. Most of the code of the four is the
// same, so one binary is built faster and is smaller than four.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	_ "time/tzdata" // CronJob time zones must work on hosts that have no zone database

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl's credential plugins
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
	"kube-controller-manager": func() { os.Exit(cli.Run(controllermanager.NewControllerManagerCommand())) },
	"kubectl":                 runKubectl,
}

func main() {
	run, ok := programs[strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")]
	if !ok {
		names := make([]string, 0, len(programs))
		for name := range programs {
			names = append(names, name)
		}
		sort.Strings(names)
		fmt.Fprintf(os.Stderr, "%s: call this binary through a link named %s\n", os.Args[0], strings.Join(names, ", "))
		os.Exit(2)
	}
	exitWithParent()
	run()
}

func runKubectl() {
	// kubectl logs while its command tree is built, before flags are parsed,
	// so the verbosity has to be known by then.
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}

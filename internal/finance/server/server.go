package server

import (
	"cmp"
	"log/slog"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/finance/agent"
)

// The agent's paths beside its card's, which is the specification's.
const (
	JSONRPCPath = "/a2a"
	RESTPath    = "/rest"
	LedgerPath  = "/admin/ledger"
)

// New makes the agent. Each has tasks, a deduplication table and a ledger of its own.
func New(cfg Config) http.Handler {
	cfg.Retention = cmp.Or(cfg.Retention, dedup.DefaultRetention)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	ledger := newLedger()
	handler := newHandler(cfg, ledger)

	transports := http.NewServeMux()
	transports.Handle(JSONRPCPath, a2asrv.NewJSONRPCHandler(handler))
	transports.Handle(RESTPath+"/", http.StripPrefix(RESTPath, dedup.ConflictStatus(a2asrv.NewRESTHandler(handler))))
	edge := readBodies(authenticate(cfg.Token, readCalls(ledger, newFaults(cfg.Faults, cfg.Stopping, transports))))

	mux := http.NewServeMux()
	mux.Handle(JSONRPCPath, edge)
	mux.Handle(RESTPath+"/", edge)
	mux.Handle(a2asrv.WellKnownAgentCardPath, cardHandler(cfg))
	mux.Handle("GET "+LedgerPath, ledger)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return mux
}

// newHandler builds what is behind the transports. Deduplication sits inside the interceptor that names
// the user, who is half of its key, and outside the rules, so that a message they refuse is released.
func newHandler(cfg Config, ledger *ledger) a2asrv.RequestHandler {
	var tasks taskstore.Store = taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{
		Authenticator: a2asrv.NewTaskStoreAuthenticator(),
	})
	if cfg.Faults.ListLag > 0 {
		tasks = newLaggingTasks(tasks, cfg.Faults.ListLag)
	}
	turns := newTurns()
	tasks = dedup.TrackTasks(&announcedTasks{Store: &countedTasks{Store: tasks, ledger: ledger}, turns: turns})
	executor := &agent.Executor{Delay: cfg.Delay, Approval: cfg.Approval, Tasks: tasks}

	capabilities := card(cfg, "").Capabilities
	var handler a2asrv.RequestHandler = &rules{turns: turns, push: cfg.Push, RequestHandler: a2asrv.NewHandler(
		&takingTurns{AgentExecutor: executor, turns: turns, ledger: ledger},
		a2asrv.WithTaskStore(tasks),
		a2asrv.WithCapabilityChecks(&capabilities),
		a2asrv.WithLogger(cfg.Logger),
		pushNotifications(cfg.Push),
	)}
	if cfg.Dedup && !cfg.Faults.DuplicateTasks {
		handler = dedup.NewHandler(handler, dedup.NewMemory(), dedup.WithTracking(), dedup.WithRetention(cfg.Retention))
	}
	interceptors := []a2asrv.CallInterceptor{nameUser{}}
	if !cfg.History {
		interceptors = append(interceptors, hideHistory{})
	}
	return &a2asrv.InterceptedHandler{Handler: handler, Interceptors: interceptors, Logger: cfg.Logger}
}

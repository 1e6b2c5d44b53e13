package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/finance/agent"
	"github.com/delegation-dev/delegation-operator/internal/finance/ledgerapi"
)

// The agent's paths beside its card's, which is the specification's.
const (
	JSONRPCPath = "/a2a"
	RESTPath    = "/rest"
	LedgerPath  = "/admin/ledger"
)

// shutdownTimeout is how long Close waits for steps that are under way.
const shutdownTimeout = 3 * time.Second

// Server is the agent. It is to be closed once it serves no more requests.
type Server struct {
	http.Handler
	executor *agent.Executor
	storage  *storage
	// stop ends what runs in the background, and running counts that.
	stop    context.CancelFunc
	running sync.WaitGroup
}

// New makes the agent, and resumes the tasks that an earlier one left behind in the data directory. It returns an error
// for a directory that can't be used, or that another agent uses.
func New(ctx context.Context, cfg Config) (*Server, error) {
	cfg.Retention = cmp.Or(cfg.Retention, dedup.DefaultRetention)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	storage, err := openStorage(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{storage: storage}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	messages := newLedger()
	handler, err := s.newHandler(ctx, cfg, messages)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}

	transports := http.NewServeMux()
	transports.Handle(JSONRPCPath, a2asrv.NewJSONRPCHandler(handler))
	transports.Handle(RESTPath+"/", http.StripPrefix(RESTPath, dedup.ConflictStatus(a2asrv.NewRESTHandler(handler))))
	edge := readBodies(authenticate(cfg.Token, readCalls(messages, newFaults(cfg.Faults, cfg.Stopping, transports))))

	mux := http.NewServeMux()
	mux.Handle(JSONRPCPath, edge)
	mux.Handle(RESTPath+"/", edge)
	mux.Handle(a2asrv.WellKnownAgentCardPath, cardHandler(cfg))
	mux.Handle("GET "+LedgerPath, messages)
	if storage.postings != nil {
		mux.Handle(ledgerapi.Path, authenticate(cfg.Token, ledgerapi.Handler(storage.postings)))
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	s.Handler = mux
	return s, nil
}

// Close ends what the agent does, at a point that the next one resumes from, and closes its files.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	s.stop()
	if s.executor != nil {
		if err := s.executor.Close(ctx); err != nil {
			slog.Warn("steps cut off; they are executed again", "cause", err)
		}
	}
	s.running.Wait()
	return s.storage.Close()
}

// newHandler builds what is behind the transports. Deduplication sits inside the interceptor that names
// the user, who is half of its key, and outside the rules, so that a message they refuse is released.
func (s *Server) newHandler(ctx context.Context, cfg Config, messages *ledger) (a2asrv.RequestHandler, error) {
	tasks := s.storage.tasks
	if cfg.Faults.ListLag > 0 {
		tasks = newLaggingTasks(tasks, cfg.Faults.ListLag)
	}
	turns := newTurns()
	s.executor = &agent.Executor{Delay: cfg.Delay, Approval: cfg.Approval, Journal: s.storage.journal, Ledger: s.storage.ledger}
	tasks = &announcedTasks{Store: &countedTasks{Store: tasks, ledger: messages}, turns: turns}
	tasks = dedup.TrackTasks(s.executor.Track(tasks))
	s.executor.Tasks = tasks

	capabilities := card(cfg, "").Capabilities
	sdk := a2asrv.NewHandler(
		&takingTurns{Executor: s.executor, turns: turns, ledger: messages},
		a2asrv.WithTaskStore(tasks),
		a2asrv.WithCapabilityChecks(&capabilities),
		a2asrv.WithLogger(cfg.Logger),
		pushNotifications(cfg.Push),
	)
	if err := s.resume(ctx, sdk, turns, messages); err != nil {
		return nil, err
	}
	var handler a2asrv.RequestHandler = &rules{turns: turns, push: cfg.Push, RequestHandler: sdk}
	if cfg.Dedup && !cfg.Faults.DuplicateTasks {
		handler = s.deduplicate(ctx, cfg, handler)
	}
	interceptors := []a2asrv.CallInterceptor{nameUser{}}
	if !cfg.History {
		interceptors = append(interceptors, hideHistory{})
	}
	return &a2asrv.InterceptedHandler{Handler: handler, Interceptors: interceptors, Logger: cfg.Logger}, nil
}

// deduplicate puts the table in front of next. A message whose first copy an earlier process was at work on is looked
// for among the tasks, all of which are here: one that is not found there made none.
func (s *Server) deduplicate(ctx context.Context, cfg Config, next a2asrv.RequestHandler) a2asrv.RequestHandler {
	options := []dedup.HandlerOption{dedup.WithTracking(), dedup.WithRetention(cfg.Retention), dedup.WithLease(lease), dedup.WithLogger(cfg.Logger)}
	if find := s.storage.byMessage; find != nil {
		options = append(options, dedup.WithLookup(func(ctx context.Context, key dedup.Key) (dedup.Binding, bool, error) {
			id, found, err := find(ctx, key.MessageID)
			return dedup.Binding{TaskID: id}, found, err
		}))
	}
	handler := dedup.NewHandler(next, s.storage.received, options...)
	s.running.Go(func() { handler.Table().Sweep(ctx, 0) })
	return handler
}

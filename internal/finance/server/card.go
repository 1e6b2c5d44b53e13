package server

import (
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/finance/agent"
)

const bearerScheme a2a.SecuritySchemeName = "bearer"

// card describes the agent at a base URL (A2A 1.0, section 4.4). Its URLs are absolute, since a relative
// one means different things to different clients.
func card(cfg Config, base string) *a2a.AgentCard {
	c := &a2a.AgentCard{
		Name:        "Finance agent",
		Description: "Reconciles a month's ledger with the bank statement of the same month.",
		Version:     "1.0.0",
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(base+JSONRPCPath, a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(base+RESTPath, a2a.TransportProtocolHTTPJSON),
		},
		Capabilities:       a2a.AgentCapabilities{Streaming: true, PushNotifications: cfg.Push},
		DefaultInputModes:  []string{"text/csv", "application/json", "text/plain"},
		DefaultOutputModes: []string{"text/markdown", "text/csv"},
		Skills: []a2a.AgentSkill{{
			ID:   "reconcile-month",
			Name: "Reconcile a month",
			Description: "Matches every posting with the money that moved, and finds duplicates, missing postings, transposed digits, " +
				"bank fees and unusual adjustments. " + agent.HowToSend + " " + agent.HowToAnswer + " " + agent.HowToRevise,
			Tags:     []string{"finance", "reconciliation", "month-end"},
			Examples: []string{"Reconcile September 2026"},
		}},
	}
	if cfg.Dedup {
		c.Capabilities.Extensions = []a2a.AgentExtension{dedup.Extension(cfg.Retention)}
	}
	if cfg.Token != "" {
		c.SecuritySchemes = a2a.NamedSecuritySchemes{bearerScheme: a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
		c.SecurityRequirements = a2a.SecurityRequirementsOptions{{bearerScheme: {}}}
	}
	return c
}

// cardHandler serves the card. Without a public URL it names the host the client reached the agent by,
// which is right behind a Service and a port forward alike.
func cardHandler(cfg Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := cfg.PublicURL
		if base == "" {
			base = "http://" + r.Host
		}
		a2asrv.NewStaticAgentCardHandler(card(cfg, base)).ServeHTTP(w, r)
	})
}

// Publishes one event over NATS and recalls it through the gateway: go run publish.go
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

const (
	tenant  = "acme"
	session = "go-1"
)

type event struct {
	Kind       string    `json:"kind"`
	EventID    string    `json:"event_id"`
	TenantID   string    `json:"tenant_id"`
	SessionID  string    `json:"session_id"`
	OccurredAt time.Time `json:"occurred_at"`
	Role       string    `json:"role"`
	Speaker    string    `json:"speaker"`
	Text       string    `json:"text"`
}

type recalled struct {
	Memories []struct {
		Text string `json:"text"`
	} `json:"memories"`
}

func main() {
	connection, err := nats.Connect(setting("HELIX_NATS_URL", "nats://127.0.0.1:4222"))
	check(err)
	defer connection.Close()
	events, err := connection.JetStream()
	check(err)

	said := event{
		Kind: "message", EventID: nuid.Next(), TenantID: tenant, SessionID: session, OccurredAt: time.Now(),
		Role: "user", Speaker: "Mira", Text: "The on-call rota changes every Wednesday.",
	}
	body, err := json.Marshal(said)
	check(err)
	subject := fmt.Sprintf("helix.v1.events.%s.%s.%s", tenant, session, said.Kind)
	id := nats.MsgId(tenant + ":" + said.EventID) // sent as the header Nats-Msg-Id
	first, err := events.Publish(subject, body, id)
	check(err)
	again, err := events.Publish(subject, body, id)
	check(err)
	fmt.Printf("acknowledged as %d; repeated: %d, duplicate %t\n", first.Sequence, again.Sequence, again.Duplicate)

	found := recall("when does the rota change?", first.Sequence)
	if len(found.Memories) == 0 {
		log.Fatal("nothing was found")
	}
	fmt.Println(found.Memories[0].Text)
}

// recall waits until the event with the sequence after can be recalled.
func recall(query string, after uint64) recalled {
	body, err := json.Marshal(map[string]any{"query": query, "after": after})
	check(err)
	url := setting("HELIX_MCP_URL", "http://127.0.0.1:7464") + "/v1/recall"
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	check(err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Helix-Tenant", tenant)
	response, err := http.DefaultClient.Do(request)
	check(err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		log.Fatalf("recall: %s", response.Status)
	}
	var found recalled
	check(json.NewDecoder(response.Body).Decode(&found))
	return found
}

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

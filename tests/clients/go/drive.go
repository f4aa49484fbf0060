// Drives the service through the client that openapi-generator makes. It needs the standard library
// only.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"reflect"

	"drive/muster"
)

func must[T any](value T, _ any, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func same(what string, got, expected any) {
	if !reflect.DeepEqual(got, expected) {
		log.Fatalf("%s is %#v, expected %#v", what, got, expected)
	}
}

func main() {
	ctx := context.WithValue(context.Background(), muster.ContextAccessToken, os.Getenv("MUSTER_TOKEN"))
	configuration := muster.NewConfiguration()
	configuration.Servers = muster.ServerConfigurations{{URL: os.Getenv("MUSTER_URL")}}
	jobs := muster.NewAPIClient(configuration).JobsAPI

	const pool = "client-go"
	data := map[string]any{"text": "Zoë 𝄞", "list": []any{1.0, 0.5, nil}}
	spec := muster.NewJobSpec(data)
	spec.SetPriority(7)
	push := jobs.PushJob(ctx, pool).JobSpec(*spec).IdempotencyKey("once")
	pushed := must(push.Execute())
	same("id of a repeated push", must(push.Execute()).Id, pushed.Id)
	same("status", pushed.Status, "pending")
	same("priority", pushed.Priority, int32(7))

	claim := must(jobs.ClaimJobs(ctx, pool).Claim(*muster.NewClaim("go-1")).Execute())
	same("number of jobs", len(claim.Items), 1)
	claimed := claim.Items[0]
	same("id", claimed.Id, pushed.Id)
	same("data", claimed.Data, any(data))

	completion := muster.NewCompletion()
	completion.SetLeaseToken(claimed.LeaseToken)
	completion.SetResult(map[string]any{"pages": 12})
	must(jobs.CompleteJob(ctx, pushed.Id).Completion(*completion).Execute())
	shown := must(jobs.GetJob(ctx, pushed.Id).Execute())
	same("status", shown.Status, "done")
	same("result", shown.Result, any(map[string]any{"pages": 12.0}))

	// A body that may be left out.
	unwanted := must(jobs.PushJob(ctx, pool).JobSpec(*spec).Execute())
	same("status", must(jobs.CancelJob(ctx, unwanted.Id).Execute()).Status, "cancelled")

	spec.SetMaxRetries(1001)
	_, answer, err := jobs.PushJob(ctx, pool).JobSpec(*spec).Execute()
	var refusal *muster.GenericOpenAPIError
	if !errors.As(err, &refusal) {
		log.Fatalf("no refusal but %v", err)
	}
	problem, ok := refusal.Model().(muster.Problem)
	same("typed problem", ok, true)
	same("status", answer.StatusCode, 422)
	same("code", problem.Code, "validation_failed")
	same("pointer", problem.Errors[0].Pointer, "/max_retries")
	fmt.Println("job", pushed.Id)
}

// Drives the service through the client that oapi-codegen makes.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"reflect"
	"strings"

	"drive/muster"
)

func must[T any](value T, err error) T {
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

func parsed(raw json.RawMessage) (value any) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		log.Fatal(err)
	}
	return value
}

func pointer[T any](value T) *T { return &value }

func main() {
	ctx := context.Background()
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("MUSTER_TOKEN"))
		return nil
	}
	url := os.Getenv("MUSTER_URL")
	jobs := must(muster.NewClientWithResponses(url, muster.WithRequestEditorFn(authorize)))

	const pool = "client-go-oapi-codegen"
	data := json.RawMessage(`{"text":"Zoë 𝄞","list":[1,0.5,null],"big":9007199254740993}`)
	spec := muster.JobSpec{Data: data, Priority: pointer[int32](7)}
	once := &muster.PushJobParams{IdempotencyKey: pointer("once")}
	pushed := must(jobs.PushJobWithResponse(ctx, pool, once, spec)).JSON201
	again := must(jobs.PushJobWithResponse(ctx, pool, once, spec)).JSON201
	same("id of a repeated push", again.Id, pushed.Id)
	same("status", pushed.Status, "pending")
	same("priority", pushed.Priority, int32(7))

	claim := must(jobs.ClaimJobsWithResponse(ctx, pool, nil, muster.Claim{WorkerId: "go-1"})).JSON200
	same("number of jobs", len(claim.Items), 1)
	claimed := claim.Items[0]
	same("id", claimed.Id, pushed.Id)
	same("data", parsed(claimed.Data), parsed(data))

	result := json.RawMessage(`{"pages":12}`)
	completion := muster.Completion{LeaseToken: &claimed.LeaseToken, Result: result}
	must(jobs.CompleteJobWithResponse(ctx, pushed.Id, nil, completion))
	shown := must(jobs.GetJobWithResponse(ctx, pushed.Id, nil)).JSON200
	same("status", shown.Status, "done")
	same("result", parsed(shown.Result), parsed(result))

	// A body that may be left out.
	unwanted := must(jobs.PushJobWithResponse(ctx, pool, nil, muster.JobSpec{})).JSON201
	cancelled := must(jobs.CancelJobWithBodyWithResponse(ctx, unwanted.Id, nil, "", strings.NewReader("")))
	same("status", cancelled.JSON200.Status, "cancelled")

	spec.MaxRetries = pointer[int32](1001)
	refused := must(jobs.PushJobWithResponse(ctx, pool, nil, spec))
	same("status", refused.StatusCode(), 422)
	problem := refused.ApplicationproblemJSON422
	same("code", problem.Code, "validation_failed")
	same("pointer", (*problem.Errors)[0].Pointer, "/max_retries")
	fmt.Println("job", pushed.Id)
}

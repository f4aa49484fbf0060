//! Drives the service through the client that progenitor makes while this is compiled.
use serde_json::json;

progenitor::generate_api!(spec = "openapi.yaml", interface = Builder);
use types::{Claim, Completion, JobSpec};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let token = format!("Bearer {}", std::env::var("MUSTER_TOKEN")?);
    // The client that is there by default gives up after 15 seconds.
    let http = reqwest::Client::builder()
        .default_headers([(reqwest::header::AUTHORIZATION, token.parse()?)].into_iter().collect())
        .timeout(std::time::Duration::from_secs(40))
        .build()?;
    let service = Client::new_with_client(&std::env::var("MUSTER_URL")?, http);

    let pool = "client-rust-progenitor";
    let data = json!({"text": "Zoë 𝄞", "list": [1, 0.5, null], "big": 9007199254740993u64});
    let spec = JobSpec::builder().data(data.clone()).priority(7);
    let push = || service.push_job().pool_id(pool).body(spec.clone()).idempotency_key("once").send();
    let pushed = push().await?;
    assert_eq!(push().await?.id, pushed.id);
    assert_eq!(pushed.status, "pending");
    assert_eq!(pushed.priority, 7);

    let claim = Claim::builder().worker_id("rust-1");
    let claim = service.claim_jobs().pool_id(pool).body(claim).send().await?;
    let [claimed] = &claim.items[..] else { panic!("not one job: {claim:?}") };
    assert_eq!(claimed.id, pushed.id);
    assert_eq!(claimed.data, data);

    let result = json!({"pages": 12});
    let lease_token: types::CompletionLeaseToken = claimed.lease_token.parse()?;
    let completion = Completion::builder().lease_token(lease_token).result(result.clone());
    service.complete_job().job_id(pushed.id.as_str()).body(completion).send().await?;
    let shown = service.get_job().job_id(pushed.id.as_str()).send().await?;
    assert_eq!(shown.status, "done");
    assert_eq!(shown.result, Some(result));

    // A body that may be left out.
    let unwanted = JobSpec::builder().data(data);
    let unwanted = service.push_job().pool_id(pool).body(unwanted).send().await?;
    assert_eq!(service.cancel_job().job_id(unwanted.id.as_str()).send().await?.status, "cancelled");

    let refused = service.push_job().pool_id(pool).body(spec.max_retries(1001)).send().await;
    let Err(Error::ErrorResponse(problem)) = refused else { panic!("not refused: {refused:?}") };
    assert_eq!(problem.status(), 422);
    assert_eq!(problem.code, "validation_failed");
    assert_eq!(problem.errors[0].pointer, "/max_retries");
    println!("job {}", pushed.id);
    Ok(())
}

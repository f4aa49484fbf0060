//! Drives the service through the client that openapi-generator makes.
use muster::apis::{configuration::Configuration, jobs_api as jobs, jobs_api::PushJobError, Error};
use muster::models::{Claim, Completion, JobSpec};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = Configuration {
        base_path: std::env::var("MUSTER_URL")?,
        bearer_access_token: Some(std::env::var("MUSTER_TOKEN")?),
        ..Default::default()
    };

    let pool = "client-rust";
    let data = Some(json!({"text": "Zoë 𝄞", "list": [1, 0.5, null], "big": 9007199254740993u64}));
    let mut spec = JobSpec { priority: Some(7), ..JobSpec::new(data.clone()) };
    let pushed = jobs::push_job(&service, pool, spec.clone(), Some("once")).await?;
    assert_eq!(jobs::push_job(&service, pool, spec.clone(), Some("once")).await?.id, pushed.id);
    assert_eq!(pushed.status, "pending");
    assert_eq!(pushed.priority, 7);

    let claim = jobs::claim_jobs(&service, pool, Claim::new("rust-1".into()), None).await?;
    let [claimed] = &claim.items[..] else { panic!("not one job: {claim:?}") };
    assert_eq!(claimed.id, pushed.id);
    assert_eq!(claimed.data, data);

    let result = Some(Some(json!({"pages": 12})));
    let completion = Completion {
        lease_token: Some(claimed.lease_token.clone()),
        result: result.clone(),
        ..Default::default()
    };
    jobs::complete_job(&service, &pushed.id, None, Some(completion)).await?;
    let shown = jobs::get_job(&service, &pushed.id, None).await?;
    assert_eq!(shown.status, "done");
    assert_eq!(shown.result, result);

    // A body that may be left out.
    let unwanted = jobs::push_job(&service, pool, JobSpec::new(data), None).await?;
    assert_eq!(jobs::cancel_job(&service, &unwanted.id, None, None).await?.status, "cancelled");

    spec.max_retries = Some(1001);
    let Err(Error::ResponseError(refused)) = jobs::push_job(&service, pool, spec, None).await else {
        panic!("not refused")
    };
    assert_eq!(refused.status, 422);
    // The variants of the error are alike, and the first one is taken: go by the status.
    let Some(PushJobError::Status400(problem)) = refused.entity else {
        panic!("no problem: {}", refused.content)
    };
    assert_eq!(problem.code, "validation_failed");
    assert_eq!(problem.errors.unwrap()[0].pointer, "/max_retries");
    println!("job {}", pushed.id);
    Ok(())
}

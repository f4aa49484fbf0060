import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import muster.ApiClient;
import muster.ApiException;
import muster.api.JobsApi;
import muster.model.Claim;
import muster.model.ClaimedJob;
import muster.model.Completion;
import muster.model.Job;
import muster.model.JobSpec;
import muster.model.Problem;

/** Drives the service through the client that openapi-generator makes. */
public class Drive {
  static void same(String what, Object got, Object expected) {
    if (!Objects.equals(got, expected)) {
      throw new AssertionError(what + " is " + got + ", expected " + expected);
    }
  }

  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("MUSTER_URL"));
    String token = "Bearer " + System.getenv("MUSTER_TOKEN");
    client.setRequestInterceptor(request -> request.header("Authorization", token));
    JobsApi jobs = new JobsApi(client);

    String pool = "client-java";
    Map<String, Object> data =
        Map.of("text", "Zoë 𝄞", "list", Arrays.asList(1, 0.5, null), "big", 9007199254740993L);
    JobSpec spec = new JobSpec().data(data).priority(7);
    Job pushed = jobs.pushJob(pool, spec, "once");
    same("id of a repeated push", jobs.pushJob(pool, spec, "once").getId(), pushed.getId());
    same("status", pushed.getStatus(), "pending");
    same("priority", pushed.getPriority(), 7);

    List<ClaimedJob> items = jobs.claimJobs(pool, new Claim().workerId("java-1"), null).getItems();
    same("number of jobs", items.size(), 1);
    ClaimedJob claimed = items.get(0);
    same("id", claimed.getId(), pushed.getId());
    same("data", claimed.getData(), data);

    Map<String, Object> result = Map.of("pages", 12);
    Completion completion = new Completion().leaseToken(claimed.getLeaseToken()).result(result);
    jobs.completeJob(pushed.getId(), null, completion);
    Job shown = jobs.getJob(pushed.getId(), null);
    same("status", shown.getStatus(), "done");
    same("result", shown.getResult(), result);

    // A body that may be left out.
    Job unwanted = jobs.pushJob(pool, new JobSpec().data(data), null);
    same("status", jobs.cancelJob(unwanted.getId(), null, null).getStatus(), "cancelled");

    try {
      jobs.pushJob(pool, spec.maxRetries(1001), null);
      throw new AssertionError("not refused");
    } catch (ApiException refused) {
      same("status", refused.getCode(), 422);
      Problem problem = client.getObjectMapper().readValue(refused.getResponseBody(), Problem.class);
      same("code", problem.getCode(), "validation_failed");
      same("pointer", problem.getErrors().get(0).getPointer(), "/max_retries");
    }
    System.out.println("job " + pushed.getId());
  }
}
